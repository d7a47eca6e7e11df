/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: admin_drain waits until no request is active any more, but the request "POST /drain" for which it
 *     works is one of those that count as active. So it waits for its own end, and the operator with it.
 *   culprit: POST /drain|admin_drain|drain_step
 *   victim: operator|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A small service on promises: it answers requests, and an operator can drain it before an update. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct service {
	struct thrum_semaphore *connections; /* to the database */
	struct thrum_condition *left;        /* a request has left */
	unsigned active;
	unsigned own; /* requests that drain doesn't wait for */
	unsigned served;
	unsigned refused;
	bool draining;
	bool stopped;
};

struct client {
	struct service *service;
	const char *path;
	unsigned pause_ms;
	int rounds;
};

static struct service service;

/* ---- handlers ---- */

static struct thrum_promise *ask_database(struct thrum_loop *loop, void *data)
{
	const struct client *client = data;

	return thrum_promise_label(thrum_sleep(loop, 4 + strlen(client->path) % 7), "query");
}

static struct thrum_promise *get_item(struct thrum_loop *loop, struct client *client)
{
	(void)loop;
	return thrum_semaphore_with(client->service->connections, ask_database, client, NULL);
}

static struct thrum_promise *drain_step(struct thrum_loop *loop, void *value, void *data)
{
	struct service *drained = data;

	(void)value;
	if (drained->active <= drained->own)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_condition_wait(drained->left, NULL), drain_step, drained,
		NULL);
}

/* Refuses new requests, and answers when the last one is done. */
static struct thrum_promise *admin_drain(struct thrum_loop *loop, struct client *client)
{
	client->service->draining = true;
	return drain_step(loop, NULL, client->service);
}

/* ---- requests ---- */

static struct thrum_promise *request_leave(struct thrum_loop *loop, void *data)
{
	struct service *served = data;

	served->active--;
	served->served++;
	thrum_condition_broadcast(served->left, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *request(struct thrum_loop *loop, const char *method,
	struct client *client,
	struct thrum_promise *(*handler)(struct thrum_loop *, struct client *))
{
	struct thrum_promise *answer;

	if (client->service->draining) {
		client->service->refused++;
		return thrum_promise_return(loop, thrum_value_none());
	}
	client->service->active++;
	answer = thrum_promise_finalize(handler(loop, client), request_leave, client->service,
		NULL);
	thrum_promise_labelf(answer, "%s %s", method, client->path);
	return thrum_promise_should_resolve(answer);
}

/* ---- clients ---- */

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *client_ask(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(request(loop, "GET", data, get_item), client_next, data, NULL);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	if (client->rounds-- == 0)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, client->pause_ms), client_ask, client, NULL);
}

static struct thrum_promise *operator_drain(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return request(loop, "POST", data, admin_drain);
}

static struct thrum_promise *operator_done(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	printf("drained: %u served, %u refused\n", client->service->served,
		client->service->refused);
	client->service->stopped = true;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *operator_run(struct thrum_loop *loop, struct client *client)
{
	struct thrum_promise *work = thrum_sleep(loop, 180);

	work = thrum_promise_bind(work, operator_drain, client, NULL);
	return thrum_promise_label(thrum_promise_bind(work, operator_done, client, NULL),
		"operator");
}

/* ---- statistics ---- */

static struct thrum_promise *statistics_step(struct thrum_loop *loop, void *value, void *data)
{
	const struct service *seen = data;

	(void)value;
	if (seen->stopped)
		return thrum_promise_return(loop, thrum_value_none());
	printf("%u active, %u served\n", seen->active, seen->served);
	fflush(stdout);
	return thrum_promise_bind(thrum_sleep(loop, 60), statistics_step, data, NULL);
}

static struct thrum_promise *statistics(struct thrum_loop *loop, void *data)
{
	return statistics_step(loop, NULL, data);
}

int main(int argc, char **argv)
{
	static struct client clients[] = {
		{.service = &service, .path = "/item/1", .pause_ms = 6, .rounds = 30},
		{.service = &service, .path = "/item/22", .pause_ms = 9, .rounds = 30},
		{.service = &service, .path = "/search", .pause_ms = 3, .rounds = 40},
		{.service = &service, .path = "/drain"},
	};
	struct thrum_promise *all[4];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	service.own = !strcmp(argv[1], "healthy");
	service.connections = thrum_semaphore_create(loop, "connections", 2);
	service.left = thrum_condition_create(loop, "request left");
	for (int i = 0; i < 3; i++) {
		all[i] = client_next(loop, NULL, &clients[i]);
		thrum_promise_labelf(all[i], "client %d", i + 1);
	}
	all[3] = operator_run(loop, &clients[3]);
	thrum_promise_async(loop, "statistics", statistics, &service, NULL);
	code = thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, all, 4), "main"));
	thrum_stop();
	thrum_condition_destroy(service.left);
	thrum_semaphore_destroy(service.connections);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code ? 1 : 0;
}
