/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A search with a NUL in its text can't be encoded; run_query returns its failure at once, before it attaches give_back_connection, so each such GET /search keeps its place of "db connections". After three of them the orders wait for a connection for ever.
 *   culprit: GET /search|run_query|encode
 *   victim: GET /order|serve all
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A web service on promises, with a pool of three connections to its database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CONNECTIONS = 3,
	REQUESTS = 18
};

struct request {
	int number;
	const char *text; /* the parameter of the query */
	size_t size;
};

static struct thrum_semaphore *connections;
static int broken, served, rejected;

/* Writes a query to the connection. The protocol's texts end in NUL, so none may be inside. */
static struct thrum_promise *write_query(struct thrum_loop *loop, const struct request *request)
{
	if (memchr(request->text, 0, request->size))
		return NULL;
	return thrum_promise_labelf(thrum_sleep(loop, 4 + request->number % 3), "rows %d",
		request->number);
}

static struct thrum_promise *give_back_connection(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_semaphore_release(connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *run_query(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;
	struct thrum_promise *rows = write_query(loop, request);

	(void)value;
	if (!rows) {
		if (!broken)
			thrum_semaphore_release(connections);
		return thrum_promise_fail(loop, 22021,
			"invalid byte sequence for encoding UTF8: 0x00");
	}
	return thrum_promise_finalize(rows, give_back_connection, NULL, NULL);
}

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	served++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *answer_400(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	rejected++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;
	struct thrum_promise *rows = thrum_promise_bind(thrum_semaphore_acquire(connections),
		run_query, request, NULL);

	(void)loop;
	(void)value;
	return thrum_promise_catch(thrum_promise_bind(rows, answer, NULL, NULL), answer_400, NULL,
		NULL);
}

static struct thrum_promise *arrive(struct thrum_loop *loop, struct request *request)
{
	bool bad = memchr(request->text, 0, request->size);
	struct thrum_promise *served_request =
		thrum_promise_bind(thrum_sleep(loop, (uint64_t)request->number * 6), serve, request,
			NULL);

	thrum_promise_labelf(served_request, bad ? "GET /search?page=%d" : "GET /order/%d",
		request->number);
	return thrum_promise_should_resolve(served_request);
}

static void on_health_check(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	static struct request requests[REQUESTS];
	struct thrum_promise *all[REQUESTS];
	struct thrum_loop *loop;
	uv_timer_t health;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &health);
	uv_timer_start(&health, on_health_check, 50, 50);
	connections = thrum_semaphore_create(loop, "db connections", CONNECTIONS);
	for (int i = 0; i < REQUESTS; i++) {
		requests[i] = (struct request){i, "plain", 5};
		if (i == 3 || i == 7 || i == 12)
			requests[i] = (struct request){i, "per\0cent", 8};
		all[i] = arrive(loop, &requests[i]);
	}
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, REQUESTS), "serve all"));
	printf("%d served, %d rejected\n", served, rejected);
	thrum_stop();
	return result != 0;
}
