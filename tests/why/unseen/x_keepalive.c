/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 900
 *   ask: why
 *   truth: The shutdown ("drain") waits for all sessions, also for the idle keep-alive connection "session metrics-poller", which nobody closes and whose client sends nothing more.
 *   culprit: session metrics-poller|client metrics-poller
 *   victim: drain|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CLIENTS = 3
};

struct session {
	struct thrum_connection *connection;
	struct thrum_promise *done;
	bool is_idle;
};

struct client {
	const char *name;
	int requests;
	bool stays;
	struct thrum_connection *connection;
	char text[64];
};

static bool broken;
static struct session sessions[CLIENTS];
static struct client clients[CLIENTS] = {{"web", 4, false, NULL, ""},
	{"metrics-poller", 2, true, NULL, ""}, {"cron", 3, false, NULL, ""}};
static int accepted;
static struct thrum_listener *listener;
static struct sockaddr_in address;

/* ---- The server ---- */

static struct thrum_promise *session_next(struct thrum_loop *loop, struct session *session);

static struct thrum_promise *session_written(struct thrum_loop *loop, void *value, void *data)
{
	return session_next(loop, data);
}

static struct thrum_promise *session_read(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;
	struct thrum_bytes *bytes = value;

	session->is_idle = false;
	if (!bytes)
		return thrum_connection_close(session->connection);
	if (session->done)
		thrum_promise_labelf(session->done, "session %.*s", (int)strcspn(bytes->data, "\n"),
			bytes->data);
	return thrum_promise_bind(thrum_connection_write(session->connection,
					  thrum_value_static("200\n"), 4),
		session_written, session, NULL);
}

static struct thrum_promise *session_next(struct thrum_loop *loop, struct session *session)
{
	session->is_idle = true;
	return thrum_promise_bind(thrum_connection_read(session->connection), session_read, session,
		NULL);
}

static struct thrum_promise *session_closed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static void on_accept(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = &sessions[accepted++];
	struct thrum_value own;

	if (!thrum_loop_take(loop, &own))
		abort();
	session->connection = own.data;
	session->done = thrum_promise_label(thrum_promise_catch(session_next(loop, session),
						    session_closed, NULL, NULL),
		"session");
	if (accepted < CLIENTS)
		thrum_promise_on_success(thrum_listener_accept(listener), on_accept, NULL, NULL);
}

static struct thrum_promise *drain(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[CLIENTS + 1];

	for (int i = 0; i < accepted; i++) {
		all[i] = thrum_promise_ref(sessions[i].done);
		if (!broken && sessions[i].is_idle &&
			thrum_promise_state(sessions[i].done) == THRUM_PROMISE_PENDING)
			thrum_promise_unref(thrum_connection_close(sessions[i].connection));
	}
	all[accepted] = thrum_listener_close(listener);
	return thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, all, accepted + 1), "drain"));
}

/* ---- The clients ---- */

static struct thrum_promise *client_ask(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	if (client->requests-- == 0) {
		if (!client->stays)
			thrum_promise_unref(thrum_connection_close(client->connection));
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_connection_write(client->connection, thrum_value_static(client->text),
		strlen(client->text));
}

static struct thrum_promise *client_pause(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_sleep(loop, 15);
}

static struct thrum_promise *client_answer(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_connection_read(((struct client *)data)->connection);
}

static struct thrum_promise *client_loop(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct thrum_promise *asked;

	if (client->requests == 0)
		return client_ask(loop, NULL, client);
	asked = thrum_promise_bind(client_ask(loop, NULL, client), client_answer, client, NULL);
	asked = thrum_promise_bind(asked, client_pause, client, NULL);
	return thrum_promise_bind(asked, client_loop, client, NULL);
}

static struct thrum_promise *client_connected(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct thrum_value own;

	if (!thrum_loop_take(loop, &own))
		abort();
	client->connection = own.data;
	snprintf(client->text, sizeof client->text, "%s\n", client->name);
	return client_loop(loop, NULL, client);
}

static struct thrum_promise *after(struct thrum_loop *loop, void *data)
{
	struct client *client = data;

	return thrum_promise_labelf(thrum_promise_bind(thrum_tcp_connect(loop,
							       (struct sockaddr *)&address),
					    client_connected, client, NULL),
		"client %s", client->name);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	int result;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_ip4_addr("127.0.0.1", 0, &address);
	if (thrum_tcp_listen(loop, (struct sockaddr *)&address, 8, &listener))
		return 1;
	address.sin_port = htons(thrum_listener_port(listener));
	thrum_promise_on_success(thrum_listener_accept(listener), on_accept, NULL, NULL);
	for (int i = 0; i < CLIENTS; i++)
		thrum_promise_async(loop, clients[i].name, after, &clients[i], NULL);
	result = thrum_promise_run(thrum_promise_bind(thrum_sleep(loop, 250), drain, NULL, NULL));
	thrum_stop();
	return result ? 1 : 0;
}
