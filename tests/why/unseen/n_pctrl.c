/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: "exit server" waits until the output of all control clients has drained; the terminal behind
 *     client 2 has stopped reading, so "drain client 2" never ends and the server never exits.
 *   culprit: drain client 2|write 127
 *   victim: exit server
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about tmux: if a control client's terminal has stopped accepting output, the server never
 * finishes its exit, because it waits without limit until the client's write buffer is empty.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CLIENTS 3
#define STUCK 2
#define OUTPUT (24 << 20)

static char output[OUTPUT];
static struct thrum_connection *clients[CLIENTS], *terminals[CLIENTS];
static size_t shown[CLIENTS];
static bool healthy;

static struct thrum_promise *keep(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value connection;

	(void)value;
	if (thrum_loop_take(loop, &connection))
		*(struct thrum_connection **)data = connection.data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *show(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;
	int i = (int)(intptr_t)data;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	shown[i] += bytes->size;
	return thrum_promise_bind(thrum_connection_read(terminals[i]), show, data, NULL);
}

static struct thrum_promise *run_terminal(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_promise_bind(thrum_connection_read(terminals[(intptr_t)data]), show, data,
		NULL);
}

static struct thrum_promise *give_up(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	printf("client %d: %s\n", (int)(intptr_t)data, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *drain_client(int i)
{
	struct thrum_promise *drained = thrum_connection_write(clients[i],
		thrum_value_static(output), OUTPUT);

	thrum_promise_labelf(drained, "drain client %d", i);
	/* The healthy server gives its clients some time only. */
	if (healthy)
		drained = thrum_promise_catch(thrum_timeout(drained, 500), give_up,
			(void *)(intptr_t)i, NULL);
	return drained;
}

static struct thrum_promise *exit_server(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *closed[CLIENTS];

	(void)value;
	(void)data;
	for (int i = 0; i < CLIENTS; i++)
		closed[i] = thrum_connection_close(clients[i]);
	return thrum_promise_join(loop, closed, CLIENTS);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_promise *drains[CLIENTS], *exited;
	struct thrum_listener *listener;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	if (thrum_tcp_listen(loop, (struct sockaddr *)&address, 8, &listener))
		return 1;
	address.sin_port = htons((uint16_t)thrum_listener_port(listener));
	for (int i = 0; i < CLIENTS; i++) {
		struct thrum_promise *attached = thrum_promise_bind(thrum_listener_accept(listener),
			keep, &clients[i], NULL);
		struct thrum_promise *connected =
			thrum_promise_bind(thrum_tcp_connect(loop, (struct sockaddr *)&address),
				keep, &terminals[i], NULL);
		struct thrum_promise *both[] = {attached, connected};

		if (thrum_promise_run(thrum_promise_join(loop, both, 2)))
			return 1;
		if (i != STUCK)
			thrum_promise_async(loop, "terminal", run_terminal, (void *)(intptr_t)i,
				NULL);
	}
	for (int i = 0; i < CLIENTS; i++)
		drains[i] = drain_client(i);
	exited = thrum_promise_bind(thrum_promise_join(loop, drains, CLIENTS), exit_server, NULL,
		NULL);
	thrum_promise_label(exited, "exit server");
	error = thrum_promise_run(thrum_promise_should_resolve(exited));
	thrum_stop();
	printf("exit: %d, %zu bytes shown\n", error, shown[0] + shown[1]);
	for (int i = 0; i < CLIENTS; i++)
		thrum_promise_unref(thrum_connection_close(terminals[i]));
	thrum_promise_unref(thrum_listener_close(listener));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
