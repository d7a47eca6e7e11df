/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A request that is late is asked of a second replica too, and the first answer counts. The slower question is
 *     never cancelled (choose instead of pick). Replica b never answers, so each "ask b" keeps its place of
 *     "connections" for ever; after three of them none is left, and "get key 7" hangs.
 *   culprit: (ask|reply of) b\b
 *   victim: get key|ask [ac] |report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client of a store with three replicas, which hedges its requests. The replicas listen in the same loop. */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define KEYS 9
#define HEDGE_AFTER 25

struct replica {
	char name;
	bool stuck; /* it accepts connections and never answers */
	struct thrum_listener *listener;
	struct sockaddr_in address;
};

struct query {
	struct replica *replica;
	int key;
	struct thrum_connection *connection;
};

static bool broken;
static struct replica replicas[3] = {{.name = 'a'}, {.name = 'b', .stuck = true}, {.name = 'c'}};
static struct thrum_semaphore *connections;

/* ---- The replicas ---- */

static struct thrum_promise *answered(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_connection_close(data);
}

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_connection_write(data, thrum_value_static("ok"), 2);
}

static struct thrum_promise *accepted(struct thrum_loop *loop, void *value, void *data);

static void serve(struct thrum_loop *loop, struct replica *replica)
{
	struct thrum_promise *next = thrum_listener_accept(replica->listener);

	(void)loop;
	thrum_promise_ignore_result(thrum_promise_bind(next, accepted, replica, NULL));
}

static struct thrum_promise *accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct replica *replica = data;
	struct thrum_connection *connection = value;
	struct thrum_promise *served;
	struct thrum_value taken;

	if (!thrum_loop_take(loop, &taken))
		return thrum_promise_fail(loop, -EBUSY, NULL);
	serve(loop, replica);
	if (replica->stuck)
		return thrum_promise_return(loop, thrum_value_none());
	served = thrum_promise_bind(thrum_connection_read(connection), answer, connection, NULL);
	return thrum_promise_finalize(served, answered, connection, NULL);
}

static int replica_listen(struct thrum_loop *loop, struct replica *replica)
{
	int error;

	uv_ip4_addr("127.0.0.1", 0, &replica->address);
	error = thrum_tcp_listen(loop, (struct sockaddr *)&replica->address, 16,
		&replica->listener);
	if (error)
		return error;
	replica->address.sin_port = htons((uint16_t)thrum_listener_port(replica->listener));
	serve(loop, replica);
	return 0;
}

/* ---- The client ---- */

static struct thrum_promise *query_close(struct thrum_loop *loop, void *data)
{
	struct query *query = data;

	if (query->connection)
		thrum_promise_unref(thrum_connection_close(query->connection));
	query->connection = NULL;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *query_read(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;

	(void)loop;
	(void)value;
	return thrum_promise_labelf(thrum_connection_read(query->connection), "reply of %c",
		query->replica->name);
}

static struct thrum_promise *query_send(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;
	struct thrum_value taken;
	struct thrum_promise *sent;

	if (!thrum_loop_take(loop, &taken))
		return thrum_promise_fail(loop, -EBUSY, NULL);
	query->connection = value;
	sent = thrum_connection_write(query->connection, thrum_value_static("get"), 3);
	return thrum_promise_bind(sent, query_read, query, NULL);
}

static struct thrum_promise *query_begin(struct thrum_loop *loop, void *data)
{
	struct query *query = data;
	struct thrum_promise *reply = thrum_tcp_connect(loop,
		(struct sockaddr *)&query->replica->address);

	reply = thrum_promise_bind(reply, query_send, query, NULL);
	return thrum_promise_finalize(reply, query_close, query, NULL);
}

static struct thrum_promise *ask(struct replica *replica, int key)
{
	struct query *query = calloc(1, sizeof(*query));
	struct thrum_promise *asked;

	query->replica = replica;
	query->key = key;
	asked = thrum_semaphore_with(connections, query_begin, query, free);
	return thrum_promise_labelf(asked, "ask %c for key %d", replica->name, key);
}

static struct thrum_promise *hedge(struct thrum_loop *loop, void *value, void *data)
{
	int key = (int)thrum_int(data);

	(void)loop;
	(void)value;
	return ask(&replicas[2], key);
}

/* Asks one replica, and a second one if the first is late. */
static struct thrum_promise *get(struct thrum_loop *loop, int key)
{
	struct thrum_promise *both[2], *got;

	both[0] = ask(&replicas[(key + 1) % 2], key);
	both[1] = thrum_promise_bind(thrum_sleep(loop, HEDGE_AFTER), hedge, (void *)(intptr_t)key,
		NULL);
	if (broken)
		got = thrum_promise_choose(loop, both, 2);
	else
		got = thrum_promise_pick(loop, both, 2);
	return thrum_promise_should_resolve(thrum_promise_labelf(got, "get key %d", key));
}

static struct thrum_promise *get_next(struct thrum_loop *loop, void *value, void *data)
{
	int key = (int)thrum_int(data);

	(void)value;
	if (key > KEYS) {
		puts("report is complete");
		fflush(stdout);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(get(loop, key), get_next, (void *)(intptr_t)(key + 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *report;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "connections", 3);
	for (int i = 0; i < 3; i++)
		if (replica_listen(loop, &replicas[i]))
			return 1;
	report = thrum_promise_label(get_next(loop, NULL, (void *)(intptr_t)1), "report");
	if (thrum_promise_run(report))
		return 1;
	thrum_stop();
	return 0;
}
