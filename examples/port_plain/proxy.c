/* SPDX-License-Identifier: ISC */
/* The proxy. It answers "GET key" from its cache, or asks the origin. "STATS" returns how often it
 * did either. "QUIT" ends the session. A client that is silent for too long is disconnected. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MS 2000

struct proxy {
	uv_tcp_t listener;
	struct port *port;
	struct store *known;
	struct session *sessions;
};

struct session {
	struct session *next, **link;
	struct proxy *proxy;
	uv_tcp_t tcp;
	uv_timer_t idle;
	uv_write_t write;
	struct ticket *ticket; /* of the question to the origin, while the session waits for it */
	unsigned handles;
	bool busy, closing;
	struct lines lines;
	char key[LINE_SIZE], reply[LINE_SIZE + 1];
};

static void serve(struct session *session);

static void handle_closed(uv_handle_t *handle)
{
	struct session *session = handle->data;

	if (--session->handles == 0)
		free(session);
}

static void session_close(struct session *session)
{
	if (session->closing)
		return;
	session->closing = true;
	if (session->ticket)
		upstream_forget(session->ticket);
	*session->link = session->next;
	if (session->next)
		session->next->link = session->link;
	uv_close((uv_handle_t *)&session->tcp, handle_closed);
	uv_close((uv_handle_t *)&session->idle, handle_closed);
}

/* ---- Replies --------------------------------------------------------------------------------- */

static void is_idle(uv_timer_t *timer)
{
	session_close(timer->data);
}

static void has_written(uv_write_t *write, int status)
{
	struct session *session = write->data;

	if (session->closing)
		return;
	if (status < 0) {
		session_close(session);
		return;
	}
	session->busy = false;
	uv_timer_start(&session->idle, is_idle, IDLE_MS, 0);
	serve(session);
}

static void respond(struct session *session, const char *text)
{
	uv_buf_t buffer;
	int length = snprintf(session->reply, sizeof session->reply, "%s\n", text);

	buffer = uv_buf_init(session->reply, (unsigned)length);
	session->write.data = session;
	if (uv_write(&session->write, (uv_stream_t *)&session->tcp, &buffer, 1, has_written))
		session_close(session);
}

static void has_answer(const char *reply, void *data)
{
	struct session *session = data;

	session->ticket = NULL;
	if (strncmp(reply, "VALUE ", 6) == 0 &&
		store_put(session->proxy->known, session->key, reply)) {
		session_close(session);
		return;
	}
	respond(session, reply);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void serve_get(struct session *session, const char *key)
{
	struct port *port = session->proxy->port;
	const char *value = store_find(session->proxy->known, key);

	if (value) {
		port->hits++;
		respond(session, value);
		return;
	}
	strcpy(session->key, key);
	session->ticket = upstream_ask(port, key, has_answer, session);
	if (!session->ticket)
		respond(session, "ERROR out of memory");
}

static void serve_stats(struct session *session)
{
	const struct port *port = session->proxy->port;
	char text[LINE_SIZE];

	snprintf(text, sizeof text, "STATS %lu hits %lu lookups %lu retries", port->hits,
		port->lookups, port->retries);
	respond(session, text);
}

static void serve(struct session *session)
{
	char line[LINE_SIZE];

	if (session->busy || session->closing || !lines_take(&session->lines, line))
		return;
	session->busy = true;
	uv_timer_stop(&session->idle);
	if (strncmp(line, "GET ", 4) == 0)
		serve_get(session, line + 4);
	else if (strcmp(line, "STATS") == 0)
		serve_stats(session);
	else if (strcmp(line, "QUIT") == 0)
		session_close(session);
	else
		respond(session, "ERROR what?");
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct session *session = handle->data;
	struct lines *lines = &session->lines;

	(void)size;
	*buffer = uv_buf_init(lines->text + lines->used,
		(unsigned)(sizeof lines->text - lines->used));
}

static void has_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct session *session = stream->data;

	(void)buffer;
	if (size < 0) {
		session_close(session);
		return;
	}
	session->lines.used += (size_t)size;
	serve(session);
}

static void has_connection(uv_stream_t *listener, int status)
{
	struct proxy *proxy = listener->data;
	struct session *session;

	if (status < 0 || !(session = calloc(1, sizeof *session)))
		return;
	session->proxy = proxy;
	session->handles = 2;
	session->link = &proxy->sessions;
	session->next = proxy->sessions;
	if (session->next)
		session->next->link = &session->next;
	proxy->sessions = session;
	uv_tcp_init(&proxy->port->loop, &session->tcp);
	uv_timer_init(&proxy->port->loop, &session->idle);
	session->tcp.data = session->idle.data = session;
	if (uv_accept(listener, (uv_stream_t *)&session->tcp) ||
		uv_read_start((uv_stream_t *)&session->tcp, give_buffer, has_read))
		session_close(session);
	else
		uv_timer_start(&session->idle, is_idle, IDLE_MS, 0);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void listener_closed(uv_handle_t *handle)
{
	struct proxy *proxy = handle->data;

	store_destroy(proxy->known);
	free(proxy);
}

int proxy_start(struct port *port)
{
	struct proxy *proxy = calloc(1, sizeof *proxy);

	if (!proxy)
		return -ENOMEM;
	proxy->port = port;
	proxy->known = store_create();
	if (!proxy->known) {
		free(proxy);
		return -ENOMEM;
	}
	proxy->listener.data = proxy;
	port->proxy = proxy;
	return listen_somewhere(&port->loop, &proxy->listener, &port->proxy_address,
		has_connection);
}

void proxy_stop(struct port *port)
{
	while (port->proxy->sessions)
		session_close(port->proxy->sessions);
	uv_close((uv_handle_t *)&port->proxy->listener, listener_closed);
}
