/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: release_connection compares the header "Keep-Alive" with regard to case and closes each
 *     connection after one query, so dial_backend makes a new handshake before each query; in the healthy
 *     run there are three of them
 *   culprit: handshake|dial_backend|release_connection
 *   victim: query|batch
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Asks a backend for many items over a pool of at most three connections. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <thrum/promise.h>
#include <uv.h>

#define PLACES 3
#define QUERIES 36

struct connection {
	struct connection *next;
	unsigned queries;
};

struct query {
	int number;
	struct connection *connection;
};

static struct thrum_semaphore *places;
static struct connection *idle;
static unsigned dialled;
static unsigned closed;
static const char *answer_header;

static struct thrum_value on_handshake(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	dialled++;
	return thrum_value_static(calloc(1, sizeof(struct connection)));
}

/* The handshake of TLS takes two turns to the backend and back. */
static struct thrum_promise *dial_backend(struct thrum_loop *loop)
{
	struct thrum_promise *shaken = thrum_promise_label(thrum_sleep(loop, 6), "handshake");

	return thrum_promise_map(shaken, on_handshake, NULL, NULL);
}

static struct thrum_promise *take_connection(struct thrum_loop *loop)
{
	struct connection *connection = idle;

	if (!connection)
		return dial_backend(loop);
	idle = connection->next;
	return thrum_promise_return(loop, thrum_value_static(connection));
}

/* Keeps the connection for the next query if the backend allows that. */
static void release_connection(struct connection *connection, const char *header)
{
	if (strcmp(header, "Connection: Keep-Alive")) {
		closed++;
		free(connection);
		return;
	}
	connection->next = idle;
	idle = connection;
}

static struct thrum_value on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;

	(void)loop;
	(void)value;
	query->connection->queries++;
	release_connection(query->connection, answer_header);
	return thrum_value_none();
}

static struct thrum_promise *send_query(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;
	struct thrum_promise *answer;

	query->connection = value;
	answer = thrum_promise_labelf(thrum_sleep(loop, 2), "answer %d", query->number);
	return thrum_promise_map(answer, on_answer, query, NULL);
}

static struct thrum_promise *with_place(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(take_connection(loop), send_query, data, NULL);
}

static struct thrum_promise *ask_item(struct thrum_loop *loop, struct query *query)
{
	struct thrum_promise *item = thrum_semaphore_with(places, with_place, query, NULL);

	(void)loop;
	return thrum_promise_labelf(item, "query %d", query->number);
}

int main(int argc, char **argv)
{
	struct thrum_promise *items[QUERIES];
	struct query queries[QUERIES];
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *batch;
	struct thrum_loop *loop;
	int result;

	answer_header = "Connection: Keep-Alive";
	if (argc > 1 && !strcmp(argv[1], "broken"))
		answer_header = "Connection: keep-alive"; /* another version of the backend */
	if (thrum_start(NULL) || thrum_loop_create(uv, &loop))
		return 1;
	places = thrum_semaphore_create(loop, "places", PLACES);
	for (int i = 0; i < QUERIES; i++) {
		queries[i].number = i;
		items[i] = ask_item(loop, &queries[i]);
	}
	batch = thrum_promise_label(thrum_promise_join(loop, items, QUERIES), "batch");
	result = thrum_promise_run(thrum_promise_should_resolve(batch));
	thrum_stop();
	while (idle) {
		struct connection *connection = idle;

		idle = connection->next;
		free(connection);
	}
	printf("%u dialled, %u closed\n", dialled, closed);
	thrum_semaphore_destroy(places);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return result != 0;
}
