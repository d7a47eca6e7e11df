/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=quote-10
 *   truth: The quote asks the warehouse's loop for its stock, but the callback of "recount bins" counts all
 *     bins in one go and keeps that loop's thread busy for 200 ms. The recount should pause between bins.
 *   culprit: recount bins|recount_bins
 *   victim: quote-10
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

/* A shop's thread makes quotes. It asks the warehouse, a loop in another thread, what is in stock. */

enum {
	QUOTES = 24,
	QUOTE_EVERY_MS = 8,
	TARIFF_MS = 3,
	BINS = 66,
	RECOUNT_AT_MS = 50
};

struct warehouse {
	struct thrum_loop *loop;
	struct thrum_inbox *inbox;
	struct thrum_resolver *close;
	uv_sem_t is_open;
	int stock[BINS];
	unsigned long checksum;
	int recounted;
	bool in_slices;
};

static struct warehouse warehouse;

/* Counts a bin by its weight sensor's samples: 3 ms of arithmetic. */
static void recount_bin(struct warehouse *house, int bin)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 2000; i++)
			house->checksum = house->checksum * 6364136223846793005u + (unsigned)bin;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 3000000);
	house->stock[bin] = 5 + (int)(house->checksum >> 60);
	house->recounted++;
}

static struct thrum_promise *recount_bins(struct thrum_loop *loop, void *value, void *data)
{
	struct warehouse *house = data;

	(void)value;
	while (house->recounted < BINS) {
		recount_bin(house, house->recounted);
		if (house->in_slices)
			return thrum_promise_bind(thrum_promise_pause(loop), recount_bins, house,
				NULL);
	}
	return thrum_promise_return(loop, thrum_value_none());
}

/* Runs in the warehouse's loop. */
static struct thrum_promise *stock_level(struct thrum_loop *loop, void *data)
{
	return thrum_promise_return(loop,
		thrum_value_int(warehouse.stock[(int)(intptr_t)data * 7 % BINS]));
}

static struct thrum_promise *close_gate(struct thrum_loop *loop, void *data)
{
	struct warehouse *house = data;

	thrum_resolver_resolve(house->close, thrum_value_none());
	thrum_inbox_close(house->inbox);
	return thrum_promise_return(loop, thrum_value_none());
}

static void *run_warehouse(void *data)
{
	struct warehouse *house = data;
	struct thrum_promise *parts[2];
	uv_loop_t uv;

	thrum_lane_name("warehouse");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &house->loop))
		abort();
	house->inbox = thrum_inbox_create(house->loop, "warehouse gate");
	for (int bin = 0; bin < BINS; bin++)
		house->stock[bin] = 9;
	parts[0] = thrum_promise_task(house->loop, "opening hours", &house->close);
	parts[1] = thrum_promise_bind(thrum_sleep(house->loop, RECOUNT_AT_MS), recount_bins, house,
		NULL);
	thrum_promise_label(parts[1], "recount bins");
	uv_sem_post(&house->is_open);
	if (thrum_promise_run(thrum_promise_join(house->loop, parts, 2)))
		abort();
	thrum_loop_destroy(house->loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return NULL;
}

static struct thrum_promise *make_quote(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *parts[2], *quote;

	(void)value;
	parts[0] = thrum_inbox_call(warehouse.inbox, loop, "stock level", stock_level, data, NULL);
	parts[1] = thrum_promise_label(thrum_sleep(loop, TARIFF_MS), "tariff");
	quote = thrum_promise_labelf(thrum_promise_join(loop, parts, 2), "quote-%d",
		(int)(intptr_t)data);
	return thrum_promise_should_resolve(quote);
}

int main(int count, char **arguments)
{
	struct thrum_promise *quotes[QUOTES], *all;
	struct thrum_loop *loop;
	pthread_t thread;
	uv_loop_t uv;
	int code;

	if (count != 2)
		return 2;
	warehouse.in_slices = strcmp(arguments[1], "healthy") == 0;
	if (thrum_start(NULL) || uv_sem_init(&warehouse.is_open, 0))
		return 1;
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	pthread_create(&thread, NULL, run_warehouse, &warehouse);
	uv_sem_wait(&warehouse.is_open);
	for (int i = 0; i < QUOTES; i++) {
		struct thrum_promise *customer = thrum_sleep(loop,
			(uint64_t)i * QUOTE_EVERY_MS + 1);

		thrum_promise_labelf(customer, "customer %d", i);
		quotes[i] = thrum_promise_bind(customer, make_quote, (void *)(intptr_t)i, NULL);
	}
	all = thrum_promise_label(thrum_promise_join(loop, quotes, QUOTES), "morning");
	code = thrum_promise_run(thrum_promise_should_resolve(all));
	if (thrum_inbox_post(warehouse.inbox, "close gate", close_gate, &warehouse, NULL))
		return 1;
	pthread_join(thread, NULL);
	thrum_stop();
	printf("%d quotes, %d bins recounted: %s\n", QUOTES, warehouse.recounted,
		thrum_promise_error_message(code));
	thrum_inbox_unref(warehouse.inbox);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
