/* SPDX-License-Identifier: ISC */
/* The clients. Each asks, waits for the reply, rests, and asks again. Some lose patience: they hang
 * up and come back with a new connection. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 400 /* how long a client waits for a reply */
#define HASTE_MS 20     /* how long the impatient client of the planted bug waits */
#define USERS 40

struct client {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	uv_timer_t timer; /* of patience, or of rest */
	struct worker *worker;
	unsigned number, sent;
	uint32_t random;
	bool done;
	size_t used;
	thrum_task task, reply, pause;
	char in[512], out[128];
};

static void client_connect(struct client *client);

static void client_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;

	if (!client->done) {
		THRUM_RUN (client->task)
			client_connect(client);
	}
}

/* Ends a client. It may be called at any time, more than once. */
static void client_finish(struct client *client)
{
	if (client->done)
		return;
	client->done = true;
	thrum_task_resolve(client->task);
	if (!uv_is_closing((uv_handle_t *)&client->tcp))
		uv_close((uv_handle_t *)&client->tcp, client_closed);
	uv_close((uv_handle_t *)&client->timer, NULL);
	if (--client->worker->clients_left == 0)
		worker_finish(client->worker);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Starts a timer. Timers are tasks as well: this one ends the client's patience, or its rest. */
static void client_pause(struct client *client, const char *label, unsigned ms, uv_timer_cb end)
{
	client->pause = thrum_task_create(THRUM_KIND_TIMER, label);
	thrum_task_due(client->pause, ms * INT64_C(1000000));
	uv_timer_start(&client->timer, end, ms, 0);
}

static void client_impatient(uv_timer_t *timer)
{
	struct client *client = timer->data;

	THRUM_RUN (client->task) {
		thrum_task_resolve(client->pause);
		thrum_task_fail(client->reply, "timed out");
		uv_close((uv_handle_t *)&client->tcp, client_closed);
	}
}

static unsigned pick(struct client *client, unsigned count)
{
	client->random ^= client->random << 13;
	client->random ^= client->random >> 17;
	client->random ^= client->random << 5;
	return client->random % count;
}

/* Makes the planted bug visible (--hang). Two clients ask for the same user. The first one gives up
 * while the database is busy; the second one waits for ever. */
static bool planted(const struct client *client, unsigned number)
{
	return options.hang && client->worker->number == 0 && client->number == number &&
		client->sent == 0;
}

static void choose_path(struct client *client, char *path, size_t size)
{
	unsigned dice = pick(client, 20);

	if (planted(client, 1) || planted(client, 2))
		snprintf(path, size, "/user/42");
	else if (client->number == 0 && client->sent == 0)
		snprintf(path, size, "/user/0");
	else if (dice < 6)
		snprintf(path, size, "/user/%u", 1 + pick(client, USERS));
	else if (dice < 9)
		snprintf(path, size, "/report/%u", pick(client, 10));
	else
		snprintf(path, size, dice < 19 ? "/" : "/nowhere");
}

static unsigned choose_patience(struct client *client)
{
	if (planted(client, 1))
		return HASTE_MS;
	return pick(client, 100) == 0 ? 1 : PATIENCE_MS;
}

static void client_ask(struct client *client)
{
	unsigned patience = choose_patience(client);
	bool for_ever = planted(client, 2);
	char path[32], id[32];
	uv_buf_t buffer;
	int length;

	choose_path(client, path, sizeof path);
	client->sent++;
	snprintf(id, sizeof id, "%u.%u.%u", client->worker->number, client->number, client->sent);
	length = snprintf(client->out, sizeof client->out,
		"GET %s HTTP/1.1\r\nRequest-Id: %s\r\n\r\n", path, id);
	buffer = uv_buf_init(client->out, (unsigned)length);

	client->reply = thrum_task_create(THRUM_KIND_PROMISE, "reply");
	thrum_task_should_resolve(client->reply);
	thrum_link_send(id, strlen(id));
	thrum_task_wait(client->task, client->reply);
	/* If the write fails, the read of the reply will fail too. */
	if (uv_write(&client->write, (uv_stream_t *)&client->tcp, &buffer, 1, NULL))
		client_finish(client);
	else if (!for_ever)
		client_pause(client, "patience", patience, client_impatient);
}

static void client_rested(uv_timer_t *timer)
{
	struct client *client = timer->data;

	THRUM_RUN (client->task) {
		thrum_task_resolve(client->pause);
		client_ask(client);
	}
}

/* ---- The reply ------------------------------------------------------------------------------- */

static bool reply_is_complete(const char *in)
{
	const char *length = strstr(in, "\r\nContent-Length: ");
	const char *body = strstr(in, "\r\n\r\n");

	return length && body && strlen(body + 4) >= strtoul(length + 18, NULL, 10);
}

static void client_next(struct client *client)
{
	if (client->worker->draining || client->sent == options.requests)
		client_finish(client);
	else
		client_pause(client, "rest", 1 + pick(client, 4), client_rested);
}

static void client_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct client *client = handle->data;

	(void)size;
	*buffer = uv_buf_init(client->in + client->used,
		(unsigned)(sizeof client->in - 1 - client->used));
}

static void client_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct client *client = stream->data;

	(void)buffer;
	worker_awake(client->worker);
	THRUM_RUN (client->task) {
		if (size < 0) {
			thrum_task_fail(client->reply, uv_strerror((int)size));
			client_finish(client);
			continue;
		}
		client->used += (size_t)size;
		client->in[client->used] = 0;
		if (reply_is_complete(client->in)) {
			client->used = 0;
			thrum_task_resolve(client->reply);
			thrum_task_read(client->task, client->reply);
			uv_timer_stop(&client->timer);
			thrum_task_cancel(client->pause);
			client_next(client);
		}
	}
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void client_connected(uv_connect_t *connect, int status)
{
	struct client *client = connect->handle->data;

	worker_awake(client->worker);
	THRUM_RUN (client->task) {
		if (status < 0 ||
			uv_read_start((uv_stream_t *)&client->tcp, client_buffer, client_read))
			client_finish(client);
		else
			client_ask(client);
	}
}

static void client_connect(struct client *client)
{
	client->used = 0;
	uv_tcp_init(&client->worker->loop, &client->tcp);
	client->tcp.data = client;
	if (uv_tcp_connect(&client->connect, &client->tcp,
		    (struct sockaddr *)&client->worker->address, client_connected))
		client_finish(client);
}

void clients_start(struct worker *worker)
{
	worker->clients = calloc(options.clients, sizeof *worker->clients);
	must(worker->clients ? 0 : UV_ENOMEM, "clients");
	worker->clients_left = options.clients;
	for (unsigned i = 0; i < options.clients; i++) {
		struct client *client = &worker->clients[i];

		client->worker = worker;
		client->number = i;
		client->random = worker->number * 7919 + i + 1;
		client->timer.data = client;
		uv_timer_init(&worker->loop, &client->timer);
		client->task = thrum_task_createf(THRUM_KIND_TASK, "client %u", i);
		THRUM_RUN (client->task)
			client_connect(client);
	}
}

void clients_hang_up(struct worker *worker)
{
	for (unsigned i = 0; i < options.clients; i++)
		client_finish(&worker->clients[i]);
}
