/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The manifest of the last build is keyed with the list of plugins, and the broken build doesn't sort that
 *     list. So the key differs, "read manifest" fails as stale, and all 16 pages are rendered instead of the 2 that
 *     changed.
 *   culprit: manifest
 *   victim: render page|publish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A generator of static sites: it renders what changed since the last build, in three threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define PAGES 16
#define THREADS 3

struct step {
	char label[32];
	int ms;
	bool done;
	thrum_task task;
};

/* The last build's manifest: its key and the checksum of each page. */
static const struct {
	unsigned key;
	int sums[PAGES];
} last_build = {0xbbbafb3f, {7, 7, 9, 7, 7, 7, 7, 7, 7, 7, 7, 9, 7, 7, 7, 7}};

static bool broken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER, more = PTHREAD_COND_INITIALIZER;
static struct step steps[PAGES];
static int queued, taken, ended;
static bool closed;

static void work(int ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000L};

	nanosleep(&time, NULL);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Hashes the names of the plugins in the order in which they are loaded. */
static unsigned plugins_key(void)
{
	const char *plugins[] = {"toc", "math", "feed", "highlight"}; /* as readdir gives them */
	unsigned key = 5381;

	if (!broken)
		qsort(plugins, 4, sizeof(*plugins), compare);
	for (int i = 0; i < 4; i++)
		for (const char *letter = plugins[i]; *letter; letter++)
			key = key * 33 ^ (unsigned char)*letter;
	return key;
}

/* Returns whether the last build's manifest can be used. */
static bool read_manifest(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "read manifest");
	bool fresh = false;

	THRUM_RUN (task) {
		work(3);
		fresh = plugins_key() == last_build.key;
		if (fresh)
			thrum_task_resolve(task);
		else
			thrum_task_fail(task, "stale: other plugins");
	}
	return fresh;
}

static void *renderer(void *data)
{
	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct step *step;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (taken == queued && !closed)
			pthread_cond_wait(&more, &mutex);
		thrum_resume();
		if (taken == queued)
			break;
		step = &steps[taken++];
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (step->task)
			work(step->ms);
		pthread_mutex_lock(&mutex);
		thrum_task_resolve(step->task);
		step->done = true;
		ended++;
		pthread_cond_signal(&done);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* The caller holds the mutex. */
static void queue_page(int page)
{
	struct step *step = &steps[queued];

	step->ms = 25;
	snprintf(step->label, sizeof(step->label), "render page %d", page);
	step->task = thrum_task_create(THRUM_KIND_TASK, step->label);
	thrum_task_should_resolve(step->task);
	thrum_task_ready(step->task);
	queued++;
	pthread_cond_signal(&more);
}

static void scan_sources(bool fresh)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "scan sources");

	THRUM_RUN (task) {
		pthread_mutex_lock(&mutex);
		for (int page = 0; page < PAGES; page++) {
			int sum = 7;

			if (!fresh || last_build.sums[page] != sum)
				queue_page(page);
		}
		pthread_mutex_unlock(&mutex);
		work(4);
		thrum_task_resolve(task);
	}
}

static void publish(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_JOIN, "publish");

	thrum_task_should_resolve(task);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < queued; i++)
		if (!steps[i].done)
			thrum_task_wait(task, steps[i].task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (ended < queued)
		pthread_cond_wait(&done, &mutex);
	thrum_resume();
	closed = true;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&mutex);
	THRUM_RUN (task) {
		work(6);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	static char names[THREADS][16] = {"renderer 1", "renderer 2", "renderer 3"};
	pthread_t threads[THREADS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, renderer, names[i]);
	scan_sources(read_manifest());
	publish();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("rendered %d of %d pages\n", queued, PAGES);
	return 0;
}
