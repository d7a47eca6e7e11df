/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: batch_begin takes receipts only when all orders are submitted: in batch 2 the stream receipts is
 *     full, and nobody reads it; so the mills wait for room in receipts, take no more orders, and the
 *     submitter waits for room in orders: a cycle through two bounded queues
 *   culprit: receipts
 *   victim: batch 2|submit|orders|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Orders go to mills over one bounded stream, and receipts come back over another one. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	MILLS = 2,
	CAPACITY = 4,
	BATCHES = 3
};

static const int batch_sizes[BATCHES] = {6, 24, 10};

struct shop {
	struct thrum_loop *loop;
	struct thrum_stream *orders, *receipts;
	int batch;            /* from 0 */
	int submitted, taken; /* of this batch */
	long weight;
	bool overlaps; /* receipts are taken while orders are submitted */
};

static struct thrum_promise *mill_next(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *batch_begin(struct thrum_loop *loop, void *value, void *data);

/* ---- The mills ----------------------------------------------------------------------------- */

static struct thrum_promise *on_milled(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	(void)loop;
	(void)value;

	/* A receipt tells the weight. */
	return thrum_promise_bind(thrum_stream_push(shop->receipts,
					  thrum_value_int(25 + shop->batch)),
		mill_next, shop, NULL);
}

static struct thrum_promise *on_order(struct thrum_loop *loop, void *value, void *data)
{
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 2 + thrum_int(value) % 3), on_milled, data,
		NULL);
}

static struct thrum_promise *mill_next(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	(void)loop;
	(void)value;

	return thrum_promise_bind(thrum_stream_next(shop->orders), on_order, shop, NULL);
}

static struct thrum_promise *mill_begin(struct thrum_loop *loop, void *data)
{
	return mill_next(loop, NULL, data);
}

/* ---- The customer -------------------------------------------------------------------------- */

static struct thrum_promise *submit_next(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	(void)value;

	if (shop->submitted == batch_sizes[shop->batch])
		return thrum_promise_return(loop, thrum_value_none());
	shop->submitted++;
	return thrum_promise_bind(thrum_stream_push(shop->orders, thrum_value_int(shop->submitted)),
		submit_next, shop, NULL);
}

static struct thrum_promise *collect_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *on_receipt(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;

	shop->weight += thrum_int(value);
	shop->taken++;
	return collect_next(loop, NULL, shop);
}

static struct thrum_promise *collect_next(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	(void)value;

	if (shop->taken == batch_sizes[shop->batch])
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_stream_next(shop->receipts), on_receipt, shop, NULL);
}

static struct thrum_promise *on_batch(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	(void)value;

	printf("batch %d: %d receipts\n", shop->batch + 1, shop->taken);
	if (++shop->batch == BATCHES)
		return thrum_promise_return(loop, thrum_value_none());
	return batch_begin(loop, NULL, shop);
}

static struct thrum_promise *batch_begin(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	struct thrum_promise *parts[2], *batch;
	(void)value;

	shop->submitted = shop->taken = 0;
	parts[0] = thrum_promise_label(submit_next(loop, NULL, shop), "submit");
	if (shop->overlaps) {
		parts[1] = thrum_promise_label(collect_next(loop, NULL, shop), "collect");
		batch = thrum_promise_join(loop, parts, 2);
	} else {
		batch = thrum_promise_bind(parts[0], collect_next, shop, NULL);
	}
	batch = thrum_promise_labelf(batch, "batch %d", shop->batch + 1);
	thrum_promise_should_resolve(batch);
	return thrum_promise_bind(batch, on_batch, shop, NULL);
}

int main(int argc, char **argv)
{
	struct shop shop = {0};
	struct thrum_promise *interrupt;
	uv_loop_t uv;
	int result;

	thrum_start(NULL);
	shop.overlaps = argc > 1 && !strcmp(argv[1], "healthy");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &shop.loop))
		return 1;
	shop.orders = thrum_stream_create(shop.loop, "orders", CAPACITY);
	shop.receipts = thrum_stream_create(shop.loop, "receipts", CAPACITY);
	interrupt = thrum_signal_wait(shop.loop, SIGTERM);
	for (int i = 0; i < MILLS; i++)
		thrum_promise_async(shop.loop, "mill", mill_begin, &shop, NULL);
	result = thrum_promise_run(
		thrum_promise_label(batch_begin(shop.loop, NULL, &shop), "all batches"));
	thrum_stop();
	printf("result %d, weight %ld\n", result, shop.weight);
	thrum_promise_cancel(interrupt);
	thrum_promise_unref(interrupt);
	thrum_stream_close(shop.orders);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stream_destroy(shop.orders);
	thrum_stream_destroy(shop.receipts);
	thrum_loop_destroy(shop.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) || result ? 1 : 0;
}
