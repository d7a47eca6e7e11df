/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: schedule_refill starts the timer refill_timer with a repeat of 0, so on_refill comes only once. The bucket
 *     gets no tokens any more, and the requests of the threads up-1 to up-3 wait for a token for ever.
 *   culprit: refill|schedule_refill|on_refill
 *   victim: up-\d|take_token|upload
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Uploads that are limited by a token bucket. Main runs the loop that fills it again. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define UPLOADERS 3
#define PARTS 8

static uv_loop_t loop;
static uv_timer_t refill_timer, stats_timer;
static uv_async_t finished;
static pthread_mutex_t bucket_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t refilled = PTHREAD_COND_INITIALIZER;
static int tokens = 4, uploaded;
static bool broken;

static void on_refill(uv_timer_t *timer)
{
	(void)timer;
	pthread_mutex_lock(&bucket_lock);
	tokens += 6;
	pthread_cond_broadcast(&refilled);
	pthread_mutex_unlock(&bucket_lock);
}

static void on_stats(uv_timer_t *timer)
{
	(void)timer;
}

static void schedule_refill(void)
{
	uv_timer_init(&loop, &refill_timer);
	uv_timer_start(&refill_timer, on_refill, 30, broken ? 0 : 30);
}

static void take_token(void)
{
	pthread_mutex_lock(&bucket_lock);
	while (!tokens)
		pthread_cond_wait(&refilled, &bucket_lock);
	tokens--;
	uploaded++;
	pthread_mutex_unlock(&bucket_lock);
}

static void *upload(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "up-%ld", (long)number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < PARTS; i++) {
		take_token();
		usleep(2000);
	}
	return NULL;
}

static void *upload_all(void *data)
{
	pthread_t threads[UPLOADERS];

	pthread_setname_np(pthread_self(), "uploads");
	for (long i = 0; i < UPLOADERS; i++)
		pthread_create(&threads[i], NULL, upload, (void *)(i + 1));
	for (int i = 0; i < UPLOADERS; i++)
		pthread_join(threads[i], NULL);
	uv_async_send(&finished);
	return data;
}

static void on_finished(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&refill_timer, NULL);
	uv_close((uv_handle_t *)&stats_timer, NULL);
}

int main(int argc, char **argv)
{
	pthread_t uploads;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&loop);
	uv_async_init(&loop, &finished, on_finished);
	schedule_refill();
	uv_timer_init(&loop, &stats_timer);
	uv_timer_start(&stats_timer, on_stats, 50, 50);
	pthread_create(&uploads, NULL, upload_all, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(uploads, NULL);
	printf("%d parts\n", uploaded);
	return 0;
}
