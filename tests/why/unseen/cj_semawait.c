/* SPDX-License-Identifier: ISC */
/*
 * After openresty/lua-nginx-module, pull request #2426.
 *
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: A request takes a place of the semaphore "sema", reads its body and asks the database; only then it posts the
 *     semaphore. Orders 4 and 7 are ended by client_body_timeout while they have a place, and sema_post is never
 *     called for them. Both places are lost, and all later orders wait for the semaphore for ever.
 *   culprit: order-[47]\b|\bsema\b|on_place
 *   victim: main\b|all orders
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A web application: orders come with a body that the client sends slowly or fast, and few may use the database at once. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ORDERS 14
#define PLACES 2

struct order {
	int number;
	unsigned body_ms; /* for which the client sends its body */
};

static struct thrum_semaphore *sema;
static bool cleans_up; /* a cleanup handler posts the semaphore when the request ends */
static bool ended;
static unsigned answered, timed_out, pings;

static struct thrum_value sema_post(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	thrum_semaphore_release(sema);
	return thrum_value_none();
}

static struct thrum_promise *query_database(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_label(thrum_sleep(loop, 4), "query");
}

/* client_body_timeout is 40 ms. */
static struct thrum_promise *read_client_body(struct thrum_loop *loop, const struct order *order)
{
	return thrum_timeout(thrum_promise_label(thrum_sleep(loop, order->body_ms), "body"), 40);
}

static struct thrum_promise *handle(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(read_client_body(loop, data), query_database, data, NULL);
}

/* The semaphore has a place for the order. */
static struct thrum_promise *on_place(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_map(handle(loop, data), sema_post, data, NULL);
}

static struct thrum_value answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	answered++;
	return thrum_value_none();
}

/* 408 Request Time-out */
static struct thrum_promise *answer_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure, (void)data;
	timed_out++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *begin_order(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;
	struct thrum_promise *done;

	(void)loop, (void)value;
	if (cleans_up)
		done = thrum_semaphore_with(sema, handle, order, NULL);
	else
		done = thrum_promise_bind(thrum_semaphore_acquire(sema), on_place, order, NULL);
	done = thrum_promise_map(done, answer, order, NULL);
	done = thrum_promise_catch(done, answer_failure, order, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(done, "order-%d", order->number));
}

/* A load balancer asks now and then whether the server lives. */
static struct thrum_promise *ping(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (ended)
		return thrum_promise_return(loop, thrum_value_none());
	pings++;
	return thrum_promise_bind(thrum_sleep(loop, 25), ping, data, NULL);
}

static struct thrum_promise *begin_pings(struct thrum_loop *loop, void *data)
{
	return ping(loop, NULL, data);
}

int main(int argc, char **argv)
{
	static struct order orders[ORDERS];
	struct thrum_promise *promises[ORDERS];
	struct thrum_loop *loop;
	int error;

	if (argc < 2)
		return 2;
	cleans_up = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	sema = thrum_semaphore_create(loop, "sema", PLACES);
	thrum_promise_async(loop, "balancer", begin_pings, NULL, NULL);
	for (int i = 0; i < ORDERS; i++) {
		orders[i].number = i + 1;
		orders[i].body_ms = i + 1 == 4 || i + 1 == 7 ? 400 : 3;
		promises[i] = thrum_promise_bind(thrum_sleep(loop, (uint64_t)(5 + 15 * i)),
			begin_order, &orders[i], NULL);
	}
	error = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, promises, ORDERS), "all orders")));
	ended = true;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("%u answered, %u timed out, %u pings: %s\n", answered, timed_out, pings,
		thrum_promise_error_message(error));
	thrum_stop();
	thrum_semaphore_destroy(sema);
	thrum_loop_destroy(loop);
	return 0;
}
