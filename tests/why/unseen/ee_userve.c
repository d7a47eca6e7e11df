/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A service with a loop in a thread of its own: metrics are collected and flushed each 40 ms. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static uv_loop_t loop;
static uv_async_t stop, sample;
static uv_timer_t flush_timer;
static uv_signal_t hangup;
static int samples, flushed;
static bool broken;

static void on_flush(uv_timer_t *timer)
{
	(void)timer;
	flushed = samples;
}

static void start_flushing(void)
{
	uv_timer_init(&loop, &flush_timer);
	uv_timer_start(&flush_timer, on_flush, 40, 40);
}

static void on_sample(uv_async_t *async)
{
	(void)async;
	samples++;
}

static void on_hangup(uv_signal_t *handle, int number)
{
	(void)handle;
	(void)number;
}

static void stop_service(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&sample, NULL);
	uv_close((uv_handle_t *)&hangup, NULL);
	if (!broken)
		uv_close((uv_handle_t *)&flush_timer, NULL);
}

static void *run_service(void *data)
{
	pthread_setname_np(pthread_self(), "service");
	uv_run(&loop, UV_RUN_DEFAULT);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t service;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&loop);
	uv_async_init(&loop, &stop, stop_service);
	uv_async_init(&loop, &sample, on_sample);
	uv_signal_init(&loop, &hangup);
	uv_signal_start(&hangup, on_hangup, SIGHUP);
	start_flushing();
	pthread_create(&service, NULL, run_service, NULL);
	for (int i = 0; i < 30; i++) {
		usleep(5000);
		uv_async_send(&sample);
	}
	if (broken)
		uv_async_send(&stop);
	pthread_join(service, NULL);
	uv_loop_close(&loop);
	printf("%d samples, %d flushed\n", samples, flushed);
	return 0;
}
