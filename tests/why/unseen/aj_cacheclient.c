/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=lookup
 *   truth: All commands share one connection, and the server carries them out one after the other. The housekeeping
 *     sends “scan sessions” over the same connection; it takes 400 ms, and the lookups that come after it have to wait
 *     until it is answered.
 *   culprit: scan
 *   victim: lookup
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client of a cache server. It sends commands over one connection without waiting for the answers, which come in the
 * order of the commands. Every 25 ms it looks something up; once, housekeeping counts the sessions of a range. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define LOOKUPS 16

/* ---- The server, in a thread of its own ------------------------------------------------------- */

struct server {
	struct thrum_loop *loop;
	struct thrum_listener *listener;
	struct thrum_connection *connection;
	char input[1024];
	size_t used;
	unsigned port;
	uv_sem_t ready;
};

static struct thrum_promise *server_read(struct server *server);
static struct thrum_promise *next_command(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *send_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct server *server = data;

	(void)loop, (void)value;
	return thrum_promise_bind(thrum_connection_write(server->connection,
					  thrum_value_static("ok\n"), 3),
		next_command, server, NULL);
}

/* Carries out a command: a lookup takes 2 ms, a scan 1 ms for every ten entries. */
static struct thrum_promise *execute(struct server *server, const char *command)
{
	unsigned entries;

	if (sscanf(command, "scan sessions %u", &entries) == 1)
		return thrum_promise_label(thrum_sleep(server->loop, entries / 10), "execute scan");
	return thrum_promise_label(thrum_sleep(server->loop, 2), "execute get");
}

static struct thrum_promise *next_command(struct thrum_loop *loop, void *value, void *data)
{
	struct server *server = data;
	char *end = memchr(server->input, '\n', server->used);
	char command[64];
	size_t size;

	(void)loop, (void)value;
	if (!end)
		return server_read(server);
	size = (size_t)(end - server->input);
	snprintf(command, sizeof command, "%.*s", (int)size, server->input);
	server->used -= size + 1;
	memmove(server->input, end + 1, server->used);
	return thrum_promise_bind(execute(server, command), send_answer, server, NULL);
}

static struct thrum_promise *on_input(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct server *server = data;

	if (!bytes || bytes->size > sizeof server->input - server->used)
		return thrum_promise_return(loop, thrum_value_none());
	memcpy(server->input + server->used, bytes->data, bytes->size);
	server->used += bytes->size;
	return next_command(loop, NULL, server);
}

static struct thrum_promise *server_read(struct server *server)
{
	return thrum_promise_bind(thrum_connection_read(server->connection), on_input, server,
		NULL);
}

static struct thrum_promise *server_accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct server *server = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		abort();
	server->connection = taken.data;
	return server_read(server);
}

static void run_server(void *data)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct server *server = data;
	uv_loop_t uv;

	thrum_lane_name("cache server");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &server->loop) ||
		thrum_tcp_listen(server->loop, (struct sockaddr *)&any, 8, &server->listener))
		abort();
	server->port = thrum_listener_port(server->listener);
	uv_sem_post(&server->ready);
	if (thrum_promise_run(thrum_promise_bind(thrum_listener_accept(server->listener),
		    server_accepted, server, NULL)))
		abort();
	thrum_promise_unref(thrum_connection_close(server->connection));
	thrum_promise_unref(thrum_listener_close(server->listener));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(server->loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
}

/* ---- The client ------------------------------------------------------------------------------ */

struct pending {
	struct pending *next;
	struct thrum_resolver *resolver;
};

struct client {
	struct thrum_loop *loop;
	struct thrum_connection *connection;
	struct pending *first, **end;
	unsigned entries; /* that housekeeping scans */
};

/* Sends a command. Returns a promise for its answer. */
static struct thrum_promise *send_command(struct client *client, const char *label,
	const char *command)
{
	struct pending *pending = calloc(1, sizeof *pending);
	struct thrum_promise *answer;

	if (!pending)
		return NULL;
	answer = thrum_promise_wait(client->loop, label, &pending->resolver);
	*client->end = pending;
	client->end = &pending->next;
	thrum_promise_ignore_result(thrum_connection_write(client->connection,
		thrum_value_own(strdup(command), free), strlen(command)));
	return thrum_promise_should_resolve(answer);
}

static struct thrum_promise *read_answers(struct thrum_loop *loop, void *data);

/* The answers come in the order of the commands. */
static struct thrum_promise *on_answers(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	struct client *client = data;
	struct pending *pending;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < bytes->size; i++) {
		if (bytes->data[i] != '\n' || !(pending = client->first))
			continue;
		client->first = pending->next;
		if (!client->first)
			client->end = &client->first;
		thrum_resolver_resolve(pending->resolver, thrum_value_none());
		free(pending);
	}
	return read_answers(loop, client);
}

static struct thrum_promise *read_answers(struct thrum_loop *loop, void *data)
{
	struct client *client = data;

	(void)loop;
	return thrum_promise_bind(thrum_connection_read(client->connection), on_answers, client,
		NULL);
}

static struct thrum_promise *look_up(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return send_command(data, "lookup", "get user:17\n");
}

static struct thrum_promise *count_sessions(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	char command[64];

	(void)loop, (void)value;
	snprintf(command, sizeof command, "scan sessions %u\n", client->entries);
	return send_command(client, "scan sessions", command);
}

static struct thrum_promise *on_connected(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *promises[LOOKUPS + 1];
	struct client *client = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		abort();
	client->connection = taken.data;
	thrum_promise_async(loop, "read answers", read_answers, client, NULL);
	for (int i = 0; i < LOOKUPS; i++)
		promises[i] = thrum_promise_bind(thrum_sleep(loop, 25 * (unsigned)i), look_up,
			client, NULL);
	promises[LOOKUPS] = thrum_promise_bind(thrum_sleep(loop, 210), count_sessions, client,
		NULL);
	return thrum_promise_join(loop, promises, LOOKUPS + 1);
}

int main(int argc, char **argv)
{
	struct client client = {.entries = argc > 1 && !strcmp(argv[1], "broken") ? 4000 : 40};
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static struct server server;
	uv_thread_t thread;
	uv_loop_t uv;
	int result;

	thrum_start(NULL);
	uv_sem_init(&server.ready, 0);
	uv_thread_create(&thread, run_server, &server);
	uv_sem_wait(&server.ready);
	address.sin_port = htons((uint16_t)server.port);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &client.loop))
		return 2;
	client.end = &client.first;
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_bind(thrum_tcp_connect(client.loop,
							       (struct sockaddr *)&address),
					    on_connected, &client, NULL),
			"main"));
	thrum_stop();
	thrum_promise_unref(thrum_connection_close(client.connection));
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_thread_join(&thread);
	thrum_loop_destroy(client.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	printf("%s\n", result ? thrum_promise_error_message(result) : "done");
	return result != 0;
}
