/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: A query takes one of four connections, and end_query gives it back, but only if the query succeeds. From
 *     the twentieth request on the queries for stock fail; each of the failing requests "GET /stock" keeps its
 *     connection, until none is left for anybody.
 *   culprit: GET /stock|end_query
 *   victim: GET /price|GET /feed|shop|feed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A gateway on promises between two clients and a database, to which it has four connections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CONNECTIONS 4

struct client {
	const char *name;
	unsigned number;
	unsigned count;
	unsigned pause;
	unsigned errors;
};

struct request {
	struct client *client;
	char path[32];
	bool is_lost; /* the database has lost what is asked for */
};

static bool trusting;
static struct thrum_loop *loop;
static struct thrum_semaphore *connections;
static unsigned checks;

static struct thrum_promise *ask_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *on_row(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	if (request->is_lost)
		return thrum_promise_fail(loop, 7, "no such table");
	return thrum_promise_return(loop, thrum_value_int(200));
}

static struct thrum_promise *send_query(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 6), on_row, data, NULL);
}

static struct thrum_promise *end_query(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	thrum_semaphore_release(connections);
	return thrum_promise_return(loop, thrum_value_int(thrum_int(value)));
}

static struct thrum_promise *let_go(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_semaphore_release(connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *run_query(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *row;

	(void)loop;
	(void)value;
	row = thrum_promise_bind(thrum_semaphore_acquire(connections), send_query, data, NULL);
	return trusting ? thrum_promise_bind(row, end_query, data, NULL)
			: thrum_promise_finalize(row, let_go, data, NULL);
}

/* The client gets an error page. */
static struct thrum_promise *apologize(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct client *client = data;

	(void)failure;
	client->errors++;
	return thrum_promise_return(loop, thrum_value_int(502));
}

static struct thrum_promise *forget(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve(struct request *request)
{
	struct client *client = request->client;
	struct thrum_promise *parsed = thrum_sleep(loop, 1);
	struct thrum_promise *queried = thrum_promise_bind(parsed, run_query, request, NULL);

	thrum_promise_label(queried, request->path);
	queried = thrum_promise_finalize(queried, forget, request, free);
	return thrum_promise_catch(queried, apologize, client, NULL);
}

static struct thrum_promise *rest(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, client->pause), ask_next, client, NULL);
}

/* Asks for one thing after the other. */
static struct thrum_promise *ask_next(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	unsigned number = client->number++;
	struct request *request;
	bool about_stock = client->name[0] == 's' && number % 3 == 2;

	(void)value;
	if (number == client->count)
		return thrum_promise_return(loop, thrum_value_none());
	request = calloc(1, sizeof(*request));
	if (!request)
		abort();
	request->client = client;
	request->is_lost = about_stock && number >= 20;
	snprintf(request->path, sizeof(request->path), "GET /%s %u",
		about_stock                      ? "stock"
			: client->name[0] == 's' ? "price"
						 : "feed",
		number);
	return thrum_promise_bind(serve(request), rest, client, NULL);
}

static void check_health(uv_timer_t *timer)
{
	(void)timer;
	checks++;
}

int main(int argc, char **argv)
{
	struct client shop = {"shop", 0, 60, 8, 0}, feed = {"feed", 0, 25, 25, 0};
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *both[2];
	uv_timer_t timer;
	int result;

	trusting = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &timer);
	uv_timer_start(&timer, check_health, 180, 180);
	connections = thrum_semaphore_create(loop, "connections", CONNECTIONS);
	both[0] = thrum_promise_label(ask_next(loop, NULL, &shop), "shop");
	both[1] = thrum_promise_label(ask_next(loop, NULL, &feed), "feed");
	for (int i = 0; i < 2; i++)
		thrum_promise_should_resolve(both[i]);
	result = thrum_promise_run(thrum_promise_join(loop, both, 2));
	thrum_stop();
	printf("%d: %u errors, %u checks\n", result, shop.errors, checks);
	uv_close((uv_handle_t *)&timer, NULL);
	thrum_semaphore_destroy(connections);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	return 0;
}
