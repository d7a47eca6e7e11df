/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: libuv merges calls of uv_async_send. on_scan takes one parcel from the queue in each call. When two labels
 *     are scanned while the loop weighs, it is called once, and the second parcel stays in the queue. The thread
 *     belt waits for that parcel's chute (wait_for_chute) and scans no more, so nothing calls on_scan again.
 *   culprit: on_scan
 *   victim: belt|wait_for_chute|run_belt|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A parcel sorter: the belt scans and weighs parcels, and a loop of libuv decides into which chute each one falls. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define CHUTES 5
#define ROUNDS 12
#define PHOTO_MAX 2

struct parcel {
	unsigned code;
	int chute; /* -1: not decided yet */
	struct parcel *next;
};

static struct sorter {
	uv_loop_t loop;
	uv_async_t scan, weigh, shift_over;
	uv_timer_t lamp;
	pthread_mutex_t lock;
	pthread_cond_t decided;
	struct parcel *queue, **queue_end;
	unsigned chutes[CHUTES];
	unsigned grams;
	unsigned blinks;
} sorter;

static bool broken;

static struct parcel *take_parcel(void)
{
	struct parcel *parcel;

	pthread_mutex_lock(&sorter.lock);
	parcel = sorter.queue;
	if (parcel) {
		sorter.queue = parcel->next;
		if (!sorter.queue)
			sorter.queue_end = &sorter.queue;
	}
	pthread_mutex_unlock(&sorter.lock);
	return parcel;
}

static void decide(struct parcel *parcel)
{
	int chute = (int)(parcel->code * 7 % CHUTES);

	sorter.chutes[chute]++;
	pthread_mutex_lock(&sorter.lock);
	parcel->chute = chute;
	pthread_cond_signal(&sorter.decided);
	pthread_mutex_unlock(&sorter.lock);
}

/* A parcel was scanned. */
static void on_scan(uv_async_t *async)
{
	struct parcel *parcel;

	(void)async;
	while ((parcel = take_parcel())) {
		decide(parcel);
		if (broken)
			break;
	}
}

/* The scale takes its time, until its value is steady. */
static void on_weigh(uv_async_t *async)
{
	(void)async;
	for (int i = 0; i < 4; i++) {
		usleep(20000);
		sorter.grams += 250;
	}
}

static void on_lamp(uv_timer_t *timer)
{
	(void)timer;
	sorter.blinks++;
}

static void on_shift_over(uv_async_t *async)
{
	(void)async;
	uv_close((uv_handle_t *)&sorter.scan, NULL);
	uv_close((uv_handle_t *)&sorter.weigh, NULL);
	uv_close((uv_handle_t *)&sorter.lamp, NULL);
	uv_close((uv_handle_t *)&sorter.shift_over, NULL);
}

static void submit(struct parcel *parcel)
{
	parcel->chute = -1;
	parcel->next = NULL;
	pthread_mutex_lock(&sorter.lock);
	*sorter.queue_end = parcel;
	sorter.queue_end = &parcel->next;
	pthread_mutex_unlock(&sorter.lock);
	uv_async_send(&sorter.scan);
}

static int wait_for_chute(struct parcel *parcel)
{
	pthread_mutex_lock(&sorter.lock);
	while (parcel->chute < 0)
		pthread_cond_wait(&sorter.decided, &sorter.lock);
	pthread_mutex_unlock(&sorter.lock);
	return parcel->chute;
}

/* A photo shows one label mostly, and two if parcels lie side by side. */
static int take_photo(int round, struct parcel *parcels)
{
	int count = round == 7 ? 2 : 1;

	usleep(20000);
	for (int i = 0; i < count; i++)
		parcels[i].code = (unsigned)(round * 10 + i);
	return count;
}

static void *run_belt(void *data)
{
	(void)data;
	for (int round = 1; round <= ROUNDS; round++) {
		struct parcel parcels[PHOTO_MAX];
		int count;

		uv_async_send(&sorter.weigh);
		count = take_photo(round, parcels);
		for (int i = 0; i < count; i++)
			submit(&parcels[i]);
		for (int i = 0; i < count; i++)
			printf("parcel %u: chute %d\n", parcels[i].code,
				wait_for_chute(&parcels[i]));
		fflush(stdout);
	}
	uv_async_send(&sorter.shift_over);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t belt;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_mutex_init(&sorter.lock, NULL);
	pthread_cond_init(&sorter.decided, NULL);
	sorter.queue_end = &sorter.queue;
	uv_loop_init(&sorter.loop);
	uv_async_init(&sorter.loop, &sorter.scan, on_scan);
	uv_async_init(&sorter.loop, &sorter.weigh, on_weigh);
	uv_async_init(&sorter.loop, &sorter.shift_over, on_shift_over);
	uv_timer_init(&sorter.loop, &sorter.lamp);
	uv_timer_start(&sorter.lamp, on_lamp, 100, 100);
	pthread_create(&belt, NULL, run_belt, NULL);
	pthread_setname_np(belt, "belt");
	uv_run(&sorter.loop, UV_RUN_DEFAULT);
	pthread_join(belt, NULL);
	uv_loop_close(&sorter.loop);
	printf("%u grams\n", sorter.grams);
	return 0;
}
