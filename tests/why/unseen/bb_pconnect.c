/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: after the server has dropped the connection, client_connect opens the next one, open_socket
 *     fails at once, and client_connect returns without settling the promise "connect to valkey" that
 *     it keeps; all later requests get that promise and wait for it for ever.
 *   culprit: connect to valkey|client_connect
 *   victim: (SET|GET|INCR) \w+|all requests|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about the Valkey client of Bun: a reconnect that fails at once leaves the cached promise
 * of connect() pending, and each later call returns it. A client of a cache on promises; the server is
 * simulated.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define REQUESTS 9

struct client {
	bool connected;
	struct thrum_promise *connecting; /* shared by all who want a connection meanwhile */
	struct thrum_resolver *connecting_end;
	int attempts;
};

static struct client client;
static struct thrum_loop *loop;
static bool socket_exists = true, broken;
static int answers;

/* Returns 0 and the promise of a connection, or a negative error at once. */
static int open_socket(struct thrum_promise **opened)
{
	if (!socket_exists)
		return -ENOENT;
	*opened = thrum_sleep(loop, 4);
	return 0;
}

static struct thrum_promise *client_connect(void);

static void on_open(struct thrum_loop *current, void *value, void *data)
{
	struct thrum_resolver *end = client.connecting_end;

	(void)current;
	(void)value;
	(void)data;
	client.connected = true;
	client.connecting_end = NULL;
	thrum_promise_unref(client.connecting);
	client.connecting = NULL;
	thrum_resolver_resolve(end, thrum_value_none());
}

static void begin_attempt(void);

static void on_retry(struct thrum_loop *current, void *value, void *data)
{
	(void)current;
	(void)value;
	(void)data;
	begin_attempt();
}

static void begin_attempt(void)
{
	struct thrum_promise *opened;
	int error = open_socket(&opened);

	client.attempts++;
	if (error) {
		fprintf(stderr, "valkey: %s\n", thrum_promise_error_message(error));
		if (broken)
			return;
		opened = thrum_promise_label(thrum_sleep(loop, 25), "back off");
		thrum_promise_on_success(opened, on_retry, NULL, NULL);
		return;
	}
	thrum_promise_on_success(opened, on_open, NULL, NULL);
}

/* Returns the promise of a connection. */
static struct thrum_promise *client_connect(void)
{
	struct thrum_promise *result;

	if (client.connected)
		return thrum_promise_return(loop, thrum_value_none());
	if (client.connecting)
		return thrum_promise_ref(client.connecting);
	client.connecting = thrum_promise_wait(loop, "connect to valkey", &client.connecting_end);
	result = thrum_promise_ref(client.connecting);
	begin_attempt();
	return result;
}

static struct thrum_promise *ask(struct thrum_loop *current, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(current, 3), "round trip");
}

static void on_answer(struct thrum_loop *current, void *value, void *data)
{
	(void)current;
	(void)value;
	(void)data;
	answers++;
}

static struct thrum_promise *request(const char *text)
{
	struct thrum_promise *promise = thrum_promise_bind(client_connect(), ask, NULL, NULL);

	promise = thrum_promise_should_resolve(thrum_promise_label(promise, text));
	thrum_promise_on_success(thrum_promise_ref(promise), on_answer, NULL, NULL);
	return promise;
}

/* The server restarts: its socket is gone for a while, and so is the connection. */
static struct thrum_promise *come_back(struct thrum_loop *current, void *value, void *data)
{
	(void)value;
	(void)data;
	socket_exists = true;
	return thrum_promise_return(current, thrum_value_none());
}

static struct thrum_promise *restart_server(struct thrum_loop *current, void *data)
{
	(void)data;
	socket_exists = false;
	client.connected = false;
	return thrum_promise_bind(thrum_sleep(current, 15), come_back, NULL, NULL);
}

static struct thrum_promise *send_rest(struct thrum_loop *current, void *value, void *data)
{
	static const char *const texts[] = {"GET cart", "GET user", "INCR hits", "GET menu",
		"SET seen"};
	struct thrum_promise *rest[5];

	(void)value;
	(void)data;
	thrum_promise_async(current, "restart of the server", restart_server, NULL, NULL);
	for (int i = 0; i < 5; i++)
		rest[i] = request(texts[i]);
	return thrum_promise_join(current, rest, 5);
}

int main(int argc, char **argv)
{
	static const char *const texts[] = {"SET user", "SET cart", "GET user", "INCR hits"};
	struct thrum_promise *first[4], *all;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return EXIT_FAILURE;
	for (int i = 0; i < 4; i++)
		first[i] = request(texts[i]);
	all = thrum_promise_join(loop, first, 4);
	all = thrum_promise_bind(all, send_rest, NULL, NULL);
	error = thrum_promise_run(thrum_promise_label(all, "all requests"));
	printf("%d of %d answers\n", answers, REQUESTS);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
