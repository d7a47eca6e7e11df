/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: "POST /orders" of an unknown article fails early (order_inserted) and doesn't give its database
 *     connection back. After two of them the pool "db connections" is empty, and all later requests
 *     wait for a connection for ever.
 *   culprit: POST /orders (99|44)|place_order|order_inserted|insert_order
 *   victim: GET /orders
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* The backend of a shop: requests come from a script, and their queries run in threads on a pool of two
 * database connections. It runs until SIGTERM or the end of the script. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <thrum/promise.h>

#define ARTICLES 10

struct shop {
	struct thrum_loop *loop;
	struct thrum_semaphore *connections;
	unsigned orders, refused;
};

struct request {
	struct shop *shop;
	const char *line;
	int article;
};

/* ---- The database ---------------------------------------------------------------------------- */

/* Run in threads of the pool. */
static int database_insert(void *data, struct thrum_value *result)
{
	const struct request *request = data;

	usleep(15000);
	*result = thrum_value_int(
		request->article < ARTICLES); /* else: FOREIGN KEY constraint failed */
	return 0;
}

static int database_select(void *data, struct thrum_value *result)
{
	(void)data;
	usleep(25000);
	*result = thrum_value_int(1);
	return 0;
}

/* ---- POST /orders ---------------------------------------------------------------------------- */

static struct thrum_promise *order_inserted(struct thrum_loop *loop, void *inserted, void *data)
{
	struct request *request = data;

	if (!thrum_int(inserted))
		return thrum_promise_fail(loop, EINVAL, "no article %d", request->article);
	request->shop->orders++;
	thrum_semaphore_release(request->shop->connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *insert_order(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_work(loop, "insert", database_insert, data, NULL),
		order_inserted, data, NULL);
}

static struct thrum_promise *place_order(struct thrum_loop *loop, struct request *request)
{
	(void)loop;
	return thrum_promise_bind(thrum_semaphore_acquire(request->shop->connections), insert_order,
		request, NULL);
}

/* ---- GET /orders ----------------------------------------------------------------------------- */

static struct thrum_promise *orders_selected(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	printf("orders: %u\n", request->shop->orders);
	thrum_semaphore_release(request->shop->connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *select_orders(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_work(loop, "select", database_select, data, NULL),
		orders_selected, data, NULL);
}

static struct thrum_promise *list_orders(struct thrum_loop *loop, struct request *request)
{
	(void)loop;
	return thrum_promise_bind(thrum_semaphore_acquire(request->shop->connections),
		select_orders, request, NULL);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static struct thrum_promise *bad_request(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct request *request = data;

	request->shop->refused++;
	printf("400 %s: %s\n", request->line, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *handle(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;
	struct thrum_promise *work;

	(void)value;
	if (sscanf(request->line, "POST /orders %d", &request->article) == 1)
		work = place_order(loop, request);
	else
		work = list_orders(loop, request);
	return thrum_promise_catch(work, bad_request, request, NULL);
}

/* The script's requests come 40 ms apart, whether or not earlier ones have ended. */
static struct thrum_promise *run_script(struct shop *shop, struct request *requests, size_t count)
{
	struct thrum_promise *all[16];

	for (size_t i = 0; i < count; i++) {
		struct thrum_promise *arrives = thrum_sleep(shop->loop, 1 + 40 * i);

		requests[i].shop = shop;
		all[i] = thrum_promise_label(thrum_promise_bind(arrives, handle, &requests[i],
						     NULL),
			requests[i].line);
		thrum_promise_should_resolve(all[i]);
	}
	return thrum_promise_join(shop->loop, all, count);
}

static struct thrum_value say_goodbye(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)data;
	fprintf(stderr, "signal %d\n", (int)thrum_int(value));
	return thrum_value_none();
}

int main(int count, char **arguments)
{
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	struct request usual[] = {
		{.line = "POST /orders 3"},
		{.line = "GET /orders page 1"},
		{.line = "POST /orders 9"},
		{.line = "POST /orders 1"},
		{.line = "GET /orders page 2"},
		{.line = "POST /orders 4"},
		{.line = "GET /orders page 3"},
		{.line = "GET /orders page 4"},
	};
	struct request mistyped[] = {
		{.line = "POST /orders 3"},
		{.line = "GET /orders page 1"},
		{.line = "POST /orders 99"},
		{.line = "POST /orders 1"},
		{.line = "GET /orders page 2"},
		{.line = "POST /orders 44"},
		{.line = "GET /orders page 3"},
		{.line = "GET /orders page 4"},
	};
	struct thrum_promise *ends[2];
	struct shop shop = {.orders = 0};
	uv_loop_t uv;
	int status;

	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &shop.loop))
		return 2;
	shop.connections = thrum_semaphore_create(shop.loop, "db connections", 2);
	if (!shop.connections)
		return 2;
	ends[0] = thrum_promise_map(thrum_signal_wait(shop.loop, SIGTERM), say_goodbye, NULL, NULL);
	ends[1] = run_script(&shop, healthy ? usual : mistyped, 8);
	status = thrum_promise_run(thrum_promise_pick(shop.loop, ends, 2));
	thrum_stop();
	printf("%u orders, %u refused\n", shop.orders, shop.refused);
	thrum_semaphore_destroy(shop.connections);
	thrum_loop_destroy(shop.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) || status ? 1 : 0;
}
