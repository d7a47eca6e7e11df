/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: parse_refunds, in a thread of libuv's pool, meets a bad row and returns in its error path without unlocking stats_lock. The loop's timer on_progress, parse_prices and parse_orders then wait for the lock.
 *   culprit: parse_refunds
 *   victim: on_progress|parse_prices|parse_orders|main|stats_lock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Loads three kinds of files in libuv's thread pool, and shows the progress from the loop. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define FILES 8

static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long rows, bad_rows;
static uv_work_t price_files[FILES], order_files[FILES], refund_file;
static uv_timer_t progress;
static int files_left = 2 * FILES + 1;
static bool forget;

static void pause_us(int us)
{
	struct timespec time = {0, us * 1000L};

	nanosleep(&time, NULL);
}

static void parse_prices(uv_work_t *work)
{
	for (int row = 0; row < 20; row++) {
		pause_us(800);
		pthread_mutex_lock(&stats_lock);
		rows++;
		pthread_mutex_unlock(&stats_lock);
	}
}

static void parse_orders(uv_work_t *work)
{
	for (int row = 0; row < 20; row++) {
		pause_us(1000);
		pthread_mutex_lock(&stats_lock);
		rows += 2; /* an order and its customer */
		pthread_mutex_unlock(&stats_lock);
	}
}

static void parse_refunds(uv_work_t *work)
{
	for (int row = 0; row < 12; row++) {
		const char *text = row == 9 ? "\"4711,3" : "4711,3";

		pause_us(1500);
		pthread_mutex_lock(&stats_lock);
		rows++;
		if (*text == '"' && !strchr(text + 1, '"')) {
			bad_rows++;
			if (forget)
				return;
			pthread_mutex_unlock(&stats_lock);
			return;
		}
		pthread_mutex_unlock(&stats_lock);
	}
}

static void on_file(uv_work_t *work, int status)
{
	if (--files_left == 0)
		uv_close((uv_handle_t *)&progress, NULL);
}

static void on_progress(uv_timer_t *timer)
{
	unsigned long now;

	pthread_mutex_lock(&stats_lock);
	now = rows;
	pthread_mutex_unlock(&stats_lock);
	(void)now;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();

	forget = argc > 1 && !strcmp(argv[1], "broken");
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, on_progress, 20, 20);
	for (int i = 0; i < FILES; i++) {
		if (i == 2)
			uv_queue_work(loop, &refund_file, parse_refunds, on_file);
		uv_queue_work(loop, &price_files[i], parse_prices, on_file);
		uv_queue_work(loop, &order_files[i], parse_orders, on_file);
	}
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	printf("%lu rows, %lu bad\n", rows, bad_rows);
	return 0;
}
