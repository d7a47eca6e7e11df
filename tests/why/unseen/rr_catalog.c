/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_results() takes one result for each call, but libuv calls it once for several uv_async_send().
 *     The results that were sent while the loop was busy stay in the list, and nobody posts all_stored.
 *   culprit: on_results|results_ready
 *   victim: all_stored|finish_scan
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This program builds a catalog: a thread scans a volume, and the loop stores each file that it found. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	FILES = 60,
	WINDOW = 6
};

struct result {
	struct result *next;
	int number;
	char path[48];
	unsigned checksum;
};

static uv_loop_t *loop;
static uv_async_t results_ready;
static uv_timer_t rules_timer, progress_timer;
static uv_thread_t scanner;
static uv_mutex_t results_lock;
static uv_sem_t credits, all_stored;
static struct result *first_result, **last_result = &first_result;
static int stored, reports;
static unsigned catalog_sum;
static bool one_by_one;

static unsigned checksum(const char *text)
{
	unsigned sum = 2166136261u;

	for (int round = 0; round < 500; round++)
		for (const char *c = text; *c; c++)
			sum = (sum ^ (unsigned char)*c) * 16777619u;
	return sum;
}

static void send_result(int number)
{
	struct result *result = calloc(1, sizeof(*result));

	if (!result)
		abort();
	result->number = number;
	snprintf(result->path, sizeof(result->path), "/srv/photos/2019/%03d.jpg", number);
	result->checksum = checksum(result->path);
	uv_mutex_lock(&results_lock);
	*last_result = result;
	last_result = &result->next;
	uv_mutex_unlock(&results_lock);
	uv_async_send(&results_ready);
}

/* The volume may be unmounted once all its files are in the catalog. */
static void finish_scan(void)
{
	uv_sem_wait(&all_stored);
	printf("the volume may be unmounted\n");
}

static void scan_volume(void *unused)
{
	(void)unused;
	for (int i = 0; i < FILES; i++) {
		uv_sem_wait(&credits);
		send_result(i);
	}
	finish_scan();
}

static struct result *take_result(void)
{
	uv_mutex_lock(&results_lock);
	struct result *result = first_result;
	if (result) {
		first_result = result->next;
		if (!first_result)
			last_result = &first_result;
	}
	uv_mutex_unlock(&results_lock);
	return result;
}

static void close_catalog(void)
{
	uv_close((uv_handle_t *)&results_ready, NULL);
	uv_close((uv_handle_t *)&progress_timer, NULL);
	uv_sem_post(&all_stored);
}

static void store(struct result *result)
{
	catalog_sum ^= result->checksum;
	free(result);
	uv_sem_post(&credits);
	if (++stored == FILES)
		close_catalog();
}

static void on_results(uv_async_t *async)
{
	struct result *result;

	(void)async;
	while ((result = take_result())) {
		store(result);
		if (one_by_one)
			break;
	}
}

static void on_progress(uv_timer_t *timer)
{
	reports++;
	if (reports == 5)
		uv_timer_stop(timer);
}

/* The rules take some time to be compiled; the scanner begins meanwhile. */
static void on_rules_due(uv_timer_t *timer)
{
	unsigned sum = 0;
	uint64_t begin = uv_hrtime();

	if (uv_thread_create(&scanner, scan_volume, NULL))
		abort();
	while (uv_hrtime() - begin < 30000000u)
		sum += checksum("*.jpg *.png *.tif");
	catalog_sum ^= sum & 0;
	uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	one_by_one = argc > 1 && !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	uv_mutex_init(&results_lock);
	uv_sem_init(&credits, WINDOW);
	uv_sem_init(&all_stored, 0);
	uv_async_init(loop, &results_ready, on_results);
	uv_timer_init(loop, &rules_timer);
	uv_timer_init(loop, &progress_timer);
	uv_timer_start(&rules_timer, on_rules_due, 5, 0);
	uv_timer_start(&progress_timer, on_progress, 10, 10);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_thread_join(&scanner);
	uv_loop_close(loop);
	printf("%d files are in the catalog, sum %08x\n", stored, catalog_sum);
	return 0;
}
