/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: pool_stop wakes only one of four idle workers (pthread_cond_signal on work_ready instead of a broadcast). The
 *     other workers wait for work_ready for ever, and main for them in pthread_join.
 *   culprit: work_ready|pool_stop
 *   victim: thumbnailer|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 4

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static int queued, under_way, finished;
static bool stop, broken;
static pthread_t workers[WORKERS];

static void *thumbnailer(void *data)
{
	(void)data;
	pthread_mutex_lock(&pool_mutex);
	for (;;) {
		while (!queued && !stop)
			pthread_cond_wait(&work_ready, &pool_mutex);
		if (!queued)
			break;
		queued--;
		under_way++;
		pthread_mutex_unlock(&pool_mutex);
		usleep(9000);
		pthread_mutex_lock(&pool_mutex);
		under_way--;
		finished++;
		if (!queued && !under_way)
			pthread_cond_signal(&all_done);
	}
	pthread_mutex_unlock(&pool_mutex);
	return NULL;
}

static __attribute__((noinline)) void pool_submit(void)
{
	pthread_mutex_lock(&pool_mutex);
	queued++;
	pthread_cond_signal(&work_ready);
	pthread_mutex_unlock(&pool_mutex);
}

static __attribute__((noinline)) void pool_drain(void)
{
	pthread_mutex_lock(&pool_mutex);
	while (queued || under_way)
		pthread_cond_wait(&all_done, &pool_mutex);
	pthread_mutex_unlock(&pool_mutex);
}

static __attribute__((noinline)) void pool_stop(void)
{
	pthread_mutex_lock(&pool_mutex);
	stop = true;
	if (broken)
		pthread_cond_signal(&work_ready);
	else
		pthread_cond_broadcast(&work_ready);
	pthread_mutex_unlock(&pool_mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, thumbnailer, NULL);
	for (int i = 0; i < 40; i++) {
		pool_submit();
		usleep(1500);
	}
	pool_drain();
	usleep(30000); /* writes the index; the pool idles */
	pool_stop();
	printf("%d thumbnails\n", finished);
	return 0;
}
