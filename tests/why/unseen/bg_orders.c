/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: a bulk import whose file doesn't parse fails before it gives its database connection back.
 *     Each such import costs one of three connections. After the third one all later requests wait for a
 *     connection.
 *   culprit: POST /bulk|bulk_parse
 *   victim: GET /stock|query_stock
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CONNECTIONS = 3,
	TICK_MS = 20,
	BULK_EVERY = 10,
	LAST_BULK = 50
};

struct shop {
	struct thrum_semaphore *connections;
	bool gives_back_early;
	int next;
	int served, rejected;
};

struct request {
	struct shop *shop;
	int number;
	int rows;
};

static struct request *request_new(struct shop *shop, int number)
{
	struct request *request = calloc(1, sizeof *request);

	if (!request)
		abort();
	request->shop = shop;
	request->number = number;
	request->rows = number / BULK_EVERY;
	return request;
}

static void release(struct request *request)
{
	thrum_semaphore_release(request->shop->connections);
}

/* ---- GET /stock/N ---- */

static struct thrum_promise *stock_answered(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	request->shop->served++;
	release(request);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *query_stock(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 12), stock_answered, data, NULL);
}

static struct thrum_promise *done(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *get_stock(struct thrum_loop *loop, void *data)
{
	struct request *request = data;
	struct thrum_promise *reply;

	(void)loop;
	thrum_task_should_resolve(thrum_task_current());
	reply = thrum_promise_bind(thrum_semaphore_acquire(request->shop->connections), query_stock,
		request, NULL);
	return thrum_promise_finalize(reply, done, request, free);
}

/* ---- POST /bulk/N ---- */

static struct thrum_promise *bulk_written(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	request->shop->served++;
	release(request);
	return thrum_promise_return(loop, thrum_value_none());
}

/* Odd files come from a vendor that writes decimal commas. */
static struct thrum_promise *bulk_parse(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	if (request->rows % 2 == 1) {
		request->shop->rejected++;
		if (request->shop->gives_back_early)
			release(request);
		return thrum_promise_fail(loop, 22, "row %d: not a number", request->rows);
	}
	return thrum_promise_bind(thrum_sleep(loop, 15), bulk_written, request, NULL);
}

static struct thrum_promise *bulk_begin(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 8), bulk_parse, data, NULL);
}

static struct thrum_promise *post_bulk(struct thrum_loop *loop, void *data)
{
	struct request *request = data;
	struct thrum_promise *reply;

	(void)loop;
	thrum_task_should_resolve(thrum_task_current());
	reply = thrum_promise_bind(thrum_semaphore_acquire(request->shop->connections), bulk_begin,
		request, NULL);
	return thrum_promise_finalize(reply, done, request, free);
}

/* ---- Traffic ---- */

static void on_failure(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	(void)loop;
	(void)data;
	fprintf(stderr, "400 %s\n", failure->message);
}

static struct thrum_promise *traffic(struct thrum_loop *loop, void *value, void *data)
{
	struct shop *shop = data;
	int number = ++shop->next;
	char label[32];

	(void)value;
	if (number % BULK_EVERY == 0 && number <= LAST_BULK) {
		snprintf(label, sizeof label, "POST /bulk/%d", number);
		thrum_promise_async(loop, label, post_bulk, request_new(shop, number), NULL);
	} else {
		snprintf(label, sizeof label, "GET /stock/%d", number);
		thrum_promise_async(loop, label, get_stock, request_new(shop, number), NULL);
	}
	if (number % 20 == 0)
		fprintf(stderr, "%d requests, %d served, %d rejected\n", number, shop->served,
			shop->rejected);
	return thrum_promise_bind(thrum_sleep(loop, TICK_MS), traffic, shop, NULL);
}

int main(int argc, char **argv)
{
	static struct shop shop;
	struct thrum_loop *loop;
	uv_loop_t uv;

	shop.gives_back_early = argc > 1 && !strcmp(argv[1], "healthy");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	thrum_loop_on_unhandled(loop, on_failure, NULL);
	shop.connections = thrum_semaphore_create(loop, "connections", CONNECTIONS);
	if (!shop.connections)
		return 1;
	return thrum_promise_run(thrum_promise_label(traffic(loop, NULL, &shop), "traffic")) ? 1
											     : 0;
}
