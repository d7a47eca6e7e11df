/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=handler
 *   truth: scrape_metrics holds registry_lock while it sends the whole report to a slow collector, a page each
 *     30 ms. Each request counts itself under that lock, so the requests wait for the scraper.
 *   culprit: scrape_metrics|registry_lock|scraper|send_page
 *   victim: handler|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Threads serve requests and count them in a registry, which a collector reads now and then. */
enum {
	HANDLERS = 4,
	REQUESTS = 80,
	METRICS = 32,
	PAGES = 4
};

struct metric {
	char name[24];
	long value;
};

static struct metric registry[METRICS];
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static bool copy_first;
static atomic_bool closing;
static int collector[2];
static long pages_sent;

static void pause_ms(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

static void count(int metric, long amount)
{
	pthread_mutex_lock(&registry_lock);
	registry[metric].value += amount;
	pthread_mutex_unlock(&registry_lock);
}

static void send_page(const struct metric *metrics, int from, int to)
{
	char text[2048];
	size_t size = 0;

	for (int i = from; i < to; i++)
		size += (size_t)snprintf(text + size, sizeof text - size, "%s %ld\n",
			metrics[i].name, metrics[i].value);
	if (write(collector[1], text, size) != (ssize_t)size)
		perror("write");
	/* The collector wants no more than a page at a time. */
	pause_ms(30);
	pages_sent++;
}

static void send_report(const struct metric *metrics)
{
	for (int page = 0; page < PAGES; page++)
		send_page(metrics, page * METRICS / PAGES, (page + 1) * METRICS / PAGES);
}

static void scrape_metrics(void)
{
	struct metric copy[METRICS];

	pthread_mutex_lock(&registry_lock);
	if (copy_first) {
		memcpy(copy, registry, sizeof copy);
		pthread_mutex_unlock(&registry_lock);
		send_report(copy);
		return;
	}
	send_report(registry);
	pthread_mutex_unlock(&registry_lock);
}

static void *run_scraper(void *unused)
{
	while (!closing) {
		pause_ms(20);
		scrape_metrics();
	}
	return unused;
}

static void *run_collector(void *data)
{
	char text[4096];
	ssize_t size;
	long *bytes = data;

	while ((size = read(collector[0], text, sizeof text)) > 0)
		*bytes += size;
	return NULL;
}

static unsigned parse(unsigned seed)
{
	for (int i = 0; i < 20000; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

static void serve_request(int handler, int number)
{
	unsigned seed = parse((unsigned)(handler * 1000 + number));

	pause_ms(1);
	count((int)(seed % METRICS), 1);
	count(handler, 100);
}

static void *run_handler(void *data)
{
	int handler = *(int *)data;

	for (int i = 0; i < REQUESTS; i++)
		serve_request(handler, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t scraper, reader, handler[HANDLERS];
	int numbers[HANDLERS];
	long bytes = 0;
	char name[16];

	copy_first = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (pipe(collector))
		return 1;
	for (int i = 0; i < METRICS; i++)
		snprintf(registry[i].name, sizeof registry[i].name, "http_status_%d", i);
	pthread_create(&reader, NULL, run_collector, &bytes);
	pthread_setname_np(reader, "collector");
	pthread_create(&scraper, NULL, run_scraper, NULL);
	pthread_setname_np(scraper, "scraper");
	for (int i = 0; i < HANDLERS; i++) {
		numbers[i] = i;
		pthread_create(&handler[i], NULL, run_handler, &numbers[i]);
		snprintf(name, sizeof name, "handler %d", i);
		pthread_setname_np(handler[i], name);
	}
	for (int i = 0; i < HANDLERS; i++)
		pthread_join(handler[i], NULL);
	closing = true;
	pthread_join(scraper, NULL);
	close(collector[1]);
	pthread_join(reader, NULL);
	printf("%ld pages, %ld bytes\n", pages_sent, bytes);
	return 0;
}
