/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: queue_close sets the flag and wakes one waiter only (cond_wake_one) instead of all. The other
 *     workers sleep on in queue_get, and main joins them for ever.
 *   culprit: queue_close|cond_wake_one|queue_get|cond_sleep
 *   victim: logger|log_progress
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	WORKERS = 4,
	ROOM = 8
};

/* ---- Thin wrappers, as the other platforms need different ones ---- */

typedef pthread_mutex_t os_mutex;
typedef pthread_cond_t os_cond;

static void check(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: %s\n", what, strerror(error));
		abort();
	}
}

static void mutex_enter(os_mutex *mutex)
{
	check(pthread_mutex_lock(mutex), "mutex_enter");
}

static void mutex_exit(os_mutex *mutex)
{
	check(pthread_mutex_unlock(mutex), "mutex_exit");
}

static void cond_sleep(os_cond *cond, os_mutex *mutex)
{
	check(pthread_cond_wait(cond, mutex), "cond_sleep");
}

static void cond_wake_one(os_cond *cond)
{
	check(pthread_cond_signal(cond), "cond_wake_one");
}

static void cond_wake_all(os_cond *cond)
{
	check(pthread_cond_broadcast(cond), "cond_wake_all");
}

static void os_sleep(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The queue ---- */

struct image {
	int width, height;
};

struct queue {
	os_mutex mutex;
	os_cond not_empty, not_full;
	struct image image[ROOM];
	int first, count;
	bool is_closed;
};

static struct queue to_resize;
static bool wakes_all;
static volatile int resized;

static void queue_init(struct queue *queue)
{
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->not_empty, NULL);
	pthread_cond_init(&queue->not_full, NULL);
	queue->first = queue->count = 0;
	queue->is_closed = false;
}

static void queue_put(struct queue *queue, struct image image)
{
	mutex_enter(&queue->mutex);
	while (queue->count == ROOM)
		cond_sleep(&queue->not_full, &queue->mutex);
	queue->image[(queue->first + queue->count++) % ROOM] = image;
	cond_wake_one(&queue->not_empty);
	mutex_exit(&queue->mutex);
}

static bool queue_get(struct queue *queue, struct image *image)
{
	bool got;

	mutex_enter(&queue->mutex);
	while (!queue->count && !queue->is_closed)
		cond_sleep(&queue->not_empty, &queue->mutex);
	got = queue->count > 0;
	if (got) {
		*image = queue->image[queue->first];
		queue->first = (queue->first + 1) % ROOM;
		queue->count--;
		cond_wake_one(&queue->not_full);
	}
	mutex_exit(&queue->mutex);
	return got;
}

static void queue_close(struct queue *queue)
{
	mutex_enter(&queue->mutex);
	queue->is_closed = true;
	if (wakes_all)
		cond_wake_all(&queue->not_empty);
	else
		cond_wake_one(&queue->not_empty);
	mutex_exit(&queue->mutex);
}

/* ---- The program ---- */

static void *resize_worker(void *data)
{
	struct image image;

	(void)data;
	while (queue_get(&to_resize, &image)) {
		volatile unsigned sum = 0;

		for (int i = 0; i < image.width * image.height; i++)
			sum += (unsigned)i;
		os_sleep(2);
		__atomic_fetch_add(&resized, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *log_progress(void *data)
{
	(void)data;
	for (;;) {
		os_sleep(200);
		fprintf(stderr, "%d resized\n", resized);
	}
	return NULL;
}

/* One folder after the other, each with workers of its own. */
static void resize_folder(int images)
{
	pthread_t worker[WORKERS];

	queue_init(&to_resize);
	for (int i = 0; i < WORKERS; i++)
		check(pthread_create(&worker[i], NULL, resize_worker, NULL), "pthread_create");
	for (int i = 0; i < images; i++) {
		struct image image = {300 + i, 200};

		queue_put(&to_resize, image);
	}
	/* The folder's index is written last, and takes a while. */
	os_sleep(300);
	queue_close(&to_resize);
	for (int i = 0; i < WORKERS; i++)
		check(pthread_join(worker[i], NULL), "pthread_join");
}

int main(int argc, char **argv)
{
	pthread_t logger;

	wakes_all = argc > 1 && !strcmp(argv[1], "healthy");
	check(pthread_create(&logger, NULL, log_progress, NULL), "pthread_create");
	pthread_setname_np(logger, "logger");
	for (;;)
		resize_folder(60);
}
