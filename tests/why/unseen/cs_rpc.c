/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: A call's number on the wire has five bits. take_id gives number 3 to “call 35”, though the slow
 *     “call 3” still waits under it. So call 35 takes the place of call 3 in the table, and the resolver of
 *     call 3 is lost. When its answer comes at last, on_lines finds no call for it and drops it.
 *   culprit: call 35\b|take_id|on_lines|answer 3 is for no call
 *   victim: call 3\b|export
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A client of a database speaks a protocol that lets many calls be under way. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	IDS = 32,
	CALLS = 56,
	EXPORT = 3,
	EXPORT_AFTER = 42
};

static struct client {
	struct thrum_connection *connection;
	struct thrum_resolver *calls[IDS];
	unsigned last_id;
	int answers, strays;
	char input[256];
	size_t length;
} client;

static bool broken;

/* ---- The server, in a thread of its own ----------------------------------------------------- */

static void *serve(void *data)
{
	int connection = accept(*(int *)data, NULL, NULL), served = 0;
	FILE *input = fdopen(connection, "r");
	unsigned id, export_id = 0;
	char verb[16];

	while (fscanf(input, "%u %15s", &id, verb) == 2) {
		if (!strcmp(verb, "export")) {
			export_id = id; /* it takes long */
			continue;
		}
		dprintf(connection, "%u\n", id);
		if (++served == EXPORT_AFTER)
			dprintf(connection, "%u\n", export_id);
	}
	fclose(input);
	return NULL;
}

/* ---- The client ----------------------------------------------------------------------------- */

/* Returns a number for the next call. */
static unsigned take_id(void)
{
	do
		client.last_id = (client.last_id + 1) % IDS;
	while (!broken && client.calls[client.last_id]);
	return client.last_id;
}

static struct thrum_promise *call(struct thrum_loop *loop, int number)
{
	const char *verb = number == EXPORT ? "export" : "get";
	unsigned id = take_id();
	struct thrum_promise *answer, *sent;
	char *line = malloc(32);
	int size = snprintf(line, 32, "%u %s\n", id, verb);

	answer = thrum_promise_task(loop, "call", &client.calls[id]);
	answer = thrum_promise_labelf(answer, "call %d", number);
	sent = thrum_connection_write(client.connection, thrum_value_own(line, free), size);
	thrum_promise_ignore_result(sent);
	return answer;
}

static void on_line(unsigned id)
{
	struct thrum_resolver *waiting = client.calls[id % IDS];

	client.answers++;
	if (!waiting) {
		client.strays++;
		thrum_logf("answer %u is for no call", id);
		return;
	}
	client.calls[id % IDS] = NULL;
	thrum_resolver_resolve(waiting, thrum_value_none());
}

static struct thrum_promise *read_answers(struct thrum_loop *loop);

static struct thrum_promise *on_lines(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;

	(void)data;
	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < bytes->size; i++) {
		if (bytes->data[i] != '\n') {
			if (client.length < sizeof client.input - 1)
				client.input[client.length++] = bytes->data[i];
			continue;
		}
		client.input[client.length] = '\0';
		client.length = 0;
		on_line((unsigned)atoi(client.input));
	}
	return read_answers(loop);
}

static struct thrum_promise *read_answers(struct thrum_loop *loop)
{
	(void)loop;
	return thrum_promise_bind(thrum_connection_read(client.connection), on_lines, NULL, NULL);
}

/* ---- The program ---------------------------------------------------------------------------- */

static struct thrum_promise *look_up(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return call(loop, (int)thrum_int(data));
}

static struct thrum_promise *begin(struct thrum_loop *loop, void *data)
{
	(void)data;
	return read_answers(loop);
}

static struct thrum_promise *on_connected(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[CALLS], *turn;
	struct thrum_value connection;

	(void)data;
	client.connection = value;
	if (!thrum_loop_take(loop, &connection))
		return thrum_promise_fail(loop, -EBUSY, "connection");
	thrum_promise_async(loop, "answers", begin, NULL, NULL);
	for (int i = 0; i < CALLS; i++) {
		turn = thrum_promise_label(thrum_sleep(loop, 25 * i + 1), "turn");
		turn = thrum_promise_bind(turn, look_up, (void *)(intptr_t)(i + 1), NULL);
		all[i] = thrum_promise_labelf(turn, "row %d", i + 1);
	}
	return thrum_promise_join(loop, all, CALLS);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), code;
	struct thrum_loop *loop;
	struct thrum_promise *report;
	pthread_t server;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
		getsockname(listener, (struct sockaddr *)&address, &size) ||
		thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	pthread_create(&server, NULL, serve, &listener);
	report = thrum_tcp_connect(loop, (struct sockaddr *)&address);
	report = thrum_promise_bind(report, on_connected, NULL, NULL);
	report = thrum_promise_should_resolve(thrum_promise_label(report, "report"));
	code = thrum_promise_run(report);
	thrum_stop();
	printf("%d answers, %d strays: %s\n", client.answers, client.strays,
		thrum_promise_error_message(code));
	thrum_promise_unref(thrum_connection_close(client.connection));
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(server, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code != 0;
}
