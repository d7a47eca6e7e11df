/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A worker that can't write a file calls exit in write_thumbnail; the exit handler stop_pool waits until no worker is busy, but runs in the worker that is, so it waits for itself.
 *   culprit: stop_pool|write_thumbnail|fatal|convert \d|\bworker\b
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A converter of pictures with a pool of threads. An exit handler stops the pool, so that no picture is
 * left half written.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 3
#define PICTURES 24

static bool broken;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t pool_idle = PTHREAD_COND_INITIALIZER;
static int next_picture, last_picture, busy;
static bool stopping, failed;

/* Runs at exit: nothing is being written any more when it returns. */
static void stop_pool(void)
{
	pthread_mutex_lock(&pool_lock);
	stopping = true;
	pthread_cond_broadcast(&pool_work);
	while (busy > 0)
		pthread_cond_wait(&pool_idle, &pool_lock);
	pthread_mutex_unlock(&pool_lock);
}

static void fatal(const char *text)
{
	fprintf(stderr, "convert: %s\n", text);
	exit(1);
}

/* The disk has a bad block where picture 14 goes. */
static bool write_thumbnail(int picture)
{
	struct timespec time = {.tv_nsec = 4000000};

	nanosleep(&time, NULL);
	if (picture != 14)
		return true;
	if (broken)
		fatal("input/output error");
	return false;
}

static void *worker(void *unused)
{
	int picture;
	bool written;

	pthread_mutex_lock(&pool_lock);
	while (!stopping) {
		if (next_picture == last_picture) {
			pthread_cond_wait(&pool_work, &pool_lock);
			continue;
		}
		picture = next_picture++;
		busy++;
		pthread_mutex_unlock(&pool_lock);
		written = write_thumbnail(picture);
		pthread_mutex_lock(&pool_lock);
		busy--;
		if (!written)
			failed = true;
		pthread_cond_broadcast(&pool_idle);
	}
	pthread_mutex_unlock(&pool_lock);
	return unused;
}

static void add_pictures(int count)
{
	pthread_mutex_lock(&pool_lock);
	last_picture += count;
	pthread_cond_broadcast(&pool_work);
	pthread_mutex_unlock(&pool_lock);
}

static void wait_for_pictures(void)
{
	pthread_mutex_lock(&pool_lock);
	while (busy > 0 || next_picture < last_picture)
		pthread_cond_wait(&pool_idle, &pool_lock);
	pthread_mutex_unlock(&pool_lock);
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	char name[16];

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	atexit(stop_pool);
	for (int i = 0; i < WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, worker, NULL))
			return 1;
		snprintf(name, sizeof(name), "convert %d", i);
		pthread_setname_np(threads[i], name);
	}
	add_pictures(PICTURES);
	wait_for_pictures();
	if (failed)
		fputs("convert: a picture is not written\n", stderr);
	stop_pool();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
