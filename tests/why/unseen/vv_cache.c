/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run: self
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: self
 *   ask: diff good
 *   truth: cache_key now contains the visitor's session, so almost no request finds a compiled template in
 *     the cache. Most requests compile their template again; the good run compiled each of four once.
 *   culprit: compile
 *   victim: GET /
 */
/* A web server renders pages from templates, and keeps compiled templates in a cache. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define THREADS 3
#define REQUESTS 72
#define SLOTS 128

struct request {
	int page;
	unsigned session;
	thrum_task task;
};

struct slot {
	char key[48];
	bool compiled;
	unsigned code;
};

static const char *const pages[] = {"home", "cart", "search", "about"};
static struct request requests[REQUESTS];
static struct slot cache[SLOTS];
static pthread_mutex_t cache_mutex = PTHREAD_MUTEX_INITIALIZER,
		       queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cache_changed = PTHREAD_COND_INITIALIZER,
		      queue_changed = PTHREAD_COND_INITIALIZER;
static int arrived, begun, hits, misses;
static bool by_session;
static unsigned output;

static void microseconds(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

static void cache_key(char *key, size_t size, const struct request *request)
{
	if (by_session)
		snprintf(key, size, "%s:%08x", pages[request->page],
			request->session * 2654435761u);
	else
		snprintf(key, size, "%s", pages[request->page]);
}

static unsigned compile(const char *page)
{
	unsigned code = 0;

	for (int i = 0; i < 100000; i++)
		code = code * 31 + (unsigned char)page[i % 4];
	microseconds(6000); /* reads the template and its includes */
	return code;
}

/* Returns the code of the template. One thread compiles it, and the others wait. */
static unsigned template_get(const struct request *request)
{
	struct slot *slot = cache;
	thrum_task task;
	char key[48];

	cache_key(key, sizeof(key), request);
	pthread_mutex_lock(&cache_mutex);
	while (*slot->key && strcmp(slot->key, key))
		slot++;
	if (*slot->key) {
		hits++;
		while (!slot->compiled)
			pthread_cond_wait(&cache_changed, &cache_mutex);
		pthread_mutex_unlock(&cache_mutex);
		return slot->code;
	}
	misses++;
	strcpy(slot->key, key);
	pthread_mutex_unlock(&cache_mutex);

	task = thrum_task_createf(THRUM_KIND_TASK, "compile %s.html", pages[request->page]);
	THRUM_RUN (task) {
		slot->code = compile(pages[request->page]);
		thrum_task_resolve(task);
	}
	pthread_mutex_lock(&cache_mutex);
	slot->compiled = true;
	pthread_cond_broadcast(&cache_changed);
	pthread_mutex_unlock(&cache_mutex);
	return slot->code;
}

static void serve(struct request *request)
{
	unsigned code = template_get(request);

	for (int i = 0; i < 30000; i++)
		code = code * 17 + (unsigned)i;
	microseconds(300 + request->session % 3 * 200); /* sends it */
	__atomic_fetch_xor(&output, code, __ATOMIC_RELAXED);
}

static void *worker(void *data)
{
	struct request *request;

	(void)data;
	thrum_lane_name("worker");
	pthread_mutex_lock(&queue_mutex);
	while (begun < REQUESTS) {
		if (begun == arrived) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&queue_changed, &queue_mutex);
			thrum_resume();
			continue;
		}
		request = &requests[begun++];
		pthread_mutex_unlock(&queue_mutex);
		THRUM_RUN (request->task) {
			serve(request);
			thrum_task_resolve(request->task);
		}
		pthread_mutex_lock(&queue_mutex);
	}
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[THREADS];

	by_session = count > 1 && !strcmp(arguments[1], "bad");
	thrum_start(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];

		request->page = i % 7 % 4;
		request->session = 100 + (unsigned)i % 53;
		request->task = thrum_task_createf(THRUM_KIND_TASK, "GET /%s",
			pages[request->page]);
		thrum_task_should_resolve(request->task);
		pthread_mutex_lock(&queue_mutex);
		thrum_task_ready(request->task);
		arrived++;
		pthread_cond_signal(&queue_changed);
		pthread_mutex_unlock(&queue_mutex);
		microseconds(1500);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	printf("%d hits, %d misses, %x\n", hits, misses, output);
	return 0;
}
