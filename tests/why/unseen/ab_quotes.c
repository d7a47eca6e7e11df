/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=quote
 *   truth: One quote waits for the loop of the pricing thread, which computes new tariffs meanwhile and lets
 *     nothing else run. The tariffs should have been computed in the thread pool.
 *   culprit: rebuild tariffs|rebuild_tariffs
 *   victim: price|pricing
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why --slow=quote
 *   culprit: nothing
 */
/*
 * An insurer's server. The web thread answers requests for quotes; it asks the pricing thread, which has the
 * tariffs. An administrator uploads new tariffs while quotes are asked.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

#define QUOTES 14
#define UPLOAD_AT 6
#define TARIFFS 256

static struct thrum_inbox *pricing;
static pthread_barrier_t started;
static double tariffs[TARIFFS], fresh[TARIFFS];
static unsigned version = 1;
static bool broken;
static double total;

/* Computes for about 90 ms. */
static int compute_tariffs(void *data, struct thrum_value *result)
{
	struct timespec begin, now;
	unsigned rounds = 0;

	(void)data;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < TARIFFS; i++)
			fresh[i] = fresh[i] * 0.9 + (i + rounds % 7) * 0.01;
		rounds++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 90);
	*result = thrum_value_none();
	return 0;
}

/* In the pricing thread. */
static struct thrum_promise *use_tariffs(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	memcpy(tariffs, fresh, sizeof(tariffs));
	version++;
	return thrum_promise_return(loop, thrum_value_none());
}

/* In the pricing thread. */
static struct thrum_promise *rebuild_tariffs(struct thrum_loop *loop, void *data)
{
	struct thrum_value none;

	if (broken) {
		compute_tariffs(NULL, &none);
		return use_tariffs(loop, NULL, data);
	}
	return thrum_promise_bind(thrum_work(loop, "compute tariffs", compute_tariffs, NULL, NULL),
		use_tariffs, data, NULL);
}

/* In the pricing thread. */
static struct thrum_promise *price(struct thrum_loop *loop, void *data)
{
	intptr_t number = thrum_int(data);
	intptr_t cents = (intptr_t)(tariffs[number * 17 % TARIFFS] * 100) + 1999;

	return thrum_promise_return(loop, thrum_value_int(cents));
}

static struct thrum_promise *stop_pricing(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_inbox_close(pricing);
	return thrum_promise_return(loop, thrum_value_none());
}

static void *run_pricing(void *data)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	(void)data;
	thrum_lane_name("pricing thread");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		abort();
	pricing = thrum_inbox_create(loop, "pricing");
	pthread_barrier_wait(&started);
	uv_run(&uv, UV_RUN_DEFAULT);
	return NULL;
}

static struct thrum_value add_up(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	total += thrum_int(value) / 100.0;
	return thrum_value_none();
}

static struct thrum_promise *ask_price(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *answer;

	(void)value;
	answer = thrum_inbox_call(pricing, loop, "price", price, data, NULL);
	return thrum_promise_map(answer, add_up, NULL, NULL);
}

static struct thrum_promise *next_quote(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data);
	struct thrum_promise *checked, *quote;

	(void)value;
	if (number == QUOTES)
		return thrum_promise_return(loop, thrum_value_none());
	if (number == UPLOAD_AT &&
		thrum_inbox_post(pricing, "rebuild tariffs", rebuild_tariffs, NULL, NULL))
		return thrum_promise_fail(loop, -EPIPE, "pricing is gone");
	checked = thrum_promise_label(thrum_sleep(loop, 4), "check customer");
	quote = thrum_promise_bind(checked, ask_price, data, NULL);
	thrum_promise_should_resolve(thrum_promise_label(quote, "quote"));
	return thrum_promise_bind(quote, next_quote, (void *)(number + 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	pthread_t thread;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_barrier_init(&started, NULL, 2);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop) ||
		pthread_create(&thread, NULL, run_pricing, NULL))
		return 1;
	pthread_barrier_wait(&started);
	error = thrum_promise_run(
		thrum_promise_label(next_quote(loop, NULL, (void *)0), "web server"));
	if (thrum_inbox_post(pricing, "stop", stop_pricing, NULL, NULL))
		return 1;
	pthread_join(thread, NULL);
	thrum_stop();
	printf("%d quotes, %.2f in all, tariffs %u\n", QUOTES, total, version);
	return error ? 1 : 0;
}
