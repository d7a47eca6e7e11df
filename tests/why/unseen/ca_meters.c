/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: While the loop draws a chart, three meters put their closing values into the queue and wake the loop three
 *     times. libuv makes one wake-up of them, and on_reading takes only one value from the queue. The other
 *     two stay there, and their meters wait for the receipts.
 *   culprit: on_reading
 *   victim: run_meter|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A collector of meter readings on libuv: meters are threads that put values into a queue and wait for a receipt, and
 * the loop stores the values and draws a chart now and then. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define METERS 3
#define READINGS 6

struct reading {
	struct reading *next;
	unsigned meter;
	unsigned value;
	uv_sem_t *receipt;
};

static bool single;
static uv_loop_t *loop;
static uv_async_t wake;
static uv_timer_t chart;
static uv_mutex_t queue_lock;
static struct reading *first, **last = &first;
static unsigned long sums[METERS];
static unsigned charts, closed;
static uint64_t begin;

static void put_reading(struct reading *reading)
{
	reading->next = NULL;
	uv_mutex_lock(&queue_lock);
	*last = reading;
	last = &reading->next;
	uv_mutex_unlock(&queue_lock);
	uv_async_send(&wake);
}

static struct reading *take_reading(void)
{
	struct reading *reading;

	uv_mutex_lock(&queue_lock);
	reading = first;
	if (reading) {
		first = reading->next;
		if (!first)
			last = &first;
	}
	uv_mutex_unlock(&queue_lock);
	return reading;
}

static void store_reading(struct reading *reading)
{
	uv_sem_t *receipt = reading->receipt;

	sums[reading->meter] += reading->value;
	free(reading);
	uv_sem_post(receipt);
}

static void on_reading(uv_async_t *handle)
{
	struct reading *reading;

	(void)handle;
	while ((reading = take_reading())) {
		store_reading(reading);
		if (single)
			break;
	}
}

static void sleep_until(uint64_t ms)
{
	uint64_t now = uv_hrtime() - begin;

	if (ms * 1000000 > now)
		usleep((ms * 1000000 - now) / 1000);
}

/* Draws a chart of all values so far, which takes its time. */
static void draw_chart(uv_timer_t *timer)
{
	uint64_t end = uv_hrtime() + 140 * 1000000ull;
	volatile double curve = 0;

	(void)timer;
	while (uv_hrtime() < end)
		for (unsigned i = 0; i < METERS; i++)
			curve = curve * 0.99 + (double)sums[i];
	charts++;
}

static void run_meter(void *data)
{
	unsigned meter = *(unsigned *)data;
	uv_sem_t receipt;

	uv_sem_init(&receipt, 0);
	/* Each meter has its own minute, and all of them close the day at the same time. */
	for (unsigned i = 0; i <= READINGS; i++) {
		struct reading *reading = malloc(sizeof(*reading));

		if (!reading)
			abort();
		sleep_until(i < READINGS ? 100 * i + 25 * meter : 840 + 3 * meter);
		reading->meter = meter;
		reading->value = 40 + i * meter;
		reading->receipt = &receipt;
		put_reading(reading);
		uv_sem_wait(&receipt);
	}
	uv_sem_destroy(&receipt);
}

static void close_day(uv_work_t *work)
{
	uv_thread_t threads[METERS];
	unsigned numbers[METERS];

	(void)work;
	for (unsigned i = 0; i < METERS; i++) {
		numbers[i] = i;
		uv_thread_create(&threads[i], run_meter, &numbers[i]);
	}
	for (unsigned i = 0; i < METERS; i++) {
		uv_thread_join(&threads[i]);
		closed++;
	}
}

static void on_day_closed(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	uv_close((uv_handle_t *)&chart, NULL);
	uv_close((uv_handle_t *)&wake, NULL);
}

int main(int argc, char **argv)
{
	uv_work_t day;

	single = argc > 1 && !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	uv_mutex_init(&queue_lock);
	uv_async_init(loop, &wake, on_reading);
	uv_timer_init(loop, &chart);
	begin = uv_hrtime();
	uv_update_time(loop);
	uv_timer_start(&chart, draw_chart, 800, 800);
	uv_queue_work(loop, &day, close_day, on_day_closed);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	uv_mutex_destroy(&queue_lock);
	printf("%u meters, %u charts\n", closed, charts);
	return 0;
}
