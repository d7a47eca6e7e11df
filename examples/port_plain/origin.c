/* SPDX-License-Identifier: ISC */
/* The origin. It knows the value of each key and takes a millisecond to tell it. It doesn't
 * answer the first question for a key that begins with "slow". A key that begins with "none"
 * has no value. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MS 1

struct origin {
	uv_tcp_t listener;
	struct port *port;
	struct store *asked; /* slow keys that were asked for */
	struct connection *connections;
};

struct connection {
	struct connection *next, **link;
	struct origin *origin;
	uv_tcp_t tcp;
	uv_timer_t timer;
	uv_write_t write;
	unsigned handles; /* of the open ones */
	bool busy, closing;
	struct lines lines;
	char reply[LINE_SIZE + 16];
};

static void serve(struct connection *connection);

static void handle_closed(uv_handle_t *handle)
{
	struct connection *connection = handle->data;

	if (--connection->handles == 0)
		free(connection);
}

static void connection_close(struct connection *connection)
{
	if (connection->closing)
		return;
	connection->closing = true;
	*connection->link = connection->next;
	if (connection->next)
		connection->next->link = connection->link;
	uv_close((uv_handle_t *)&connection->tcp, handle_closed);
	uv_close((uv_handle_t *)&connection->timer, handle_closed);
}

/* ---- One request after the other ------------------------------------------------------------- */

static void written(uv_write_t *write, int status)
{
	struct connection *connection = write->data;

	if (connection->closing)
		return;
	if (status < 0) {
		connection_close(connection);
		return;
	}
	connection->busy = false;
	serve(connection);
}

static void delay_over(uv_timer_t *timer)
{
	struct connection *connection = timer->data;
	uv_buf_t buffer = uv_buf_init(connection->reply, (unsigned)strlen(connection->reply));

	connection->write.data = connection;
	if (uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &buffer, 1, written))
		connection_close(connection);
}

static void serve(struct connection *connection)
{
	struct store *asked = connection->origin->asked;
	char line[LINE_SIZE];
	const char *key = line + 4;

	if (connection->busy || !lines_take(&connection->lines, line))
		return;
	connection->busy = true;
	if (strncmp(line, "GET ", 4) != 0) {
		connection_close(connection);
		return;
	}
	if (strncmp(key, "slow", 4) == 0 && !store_find(asked, key)) {
		if (store_put(asked, key, ""))
			connection_close(connection);
		return;
	}
	if (strncmp(key, "none", 4) == 0)
		snprintf(connection->reply, sizeof connection->reply, "ERROR no such key\n");
	else
		snprintf(connection->reply, sizeof connection->reply, "VALUE of %s\n", key);
	uv_timer_start(&connection->timer, delay_over, DELAY_MS, 0);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct connection *connection = handle->data;
	struct lines *lines = &connection->lines;

	(void)size;
	*buffer = uv_buf_init(lines->text + lines->used,
		(unsigned)(sizeof lines->text - lines->used));
}

static void has_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;

	(void)buffer;
	if (size < 0) {
		connection_close(connection);
		return;
	}
	connection->lines.used += (size_t)size;
	serve(connection);
}

static void has_connection(uv_stream_t *listener, int status)
{
	struct origin *origin = listener->data;
	struct connection *connection;

	if (status < 0 || !(connection = calloc(1, sizeof *connection)))
		return;
	connection->origin = origin;
	connection->handles = 2;
	connection->link = &origin->connections;
	connection->next = origin->connections;
	if (connection->next)
		connection->next->link = &connection->next;
	origin->connections = connection;
	uv_tcp_init(&origin->port->loop, &connection->tcp);
	uv_timer_init(&origin->port->loop, &connection->timer);
	connection->tcp.data = connection->timer.data = connection;
	if (uv_accept(listener, (uv_stream_t *)&connection->tcp) ||
		uv_read_start((uv_stream_t *)&connection->tcp, give_buffer, has_read))
		connection_close(connection);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void listener_closed(uv_handle_t *handle)
{
	struct origin *origin = handle->data;

	store_destroy(origin->asked);
	free(origin);
}

int origin_start(struct port *port)
{
	struct origin *origin = calloc(1, sizeof *origin);

	if (!origin)
		return -ENOMEM;
	origin->port = port;
	origin->asked = store_create();
	if (!origin->asked) {
		free(origin);
		return -ENOMEM;
	}
	origin->listener.data = origin;
	port->origin = origin;
	return listen_somewhere(&port->loop, &origin->listener, &port->origin_address,
		has_connection);
}

void origin_stop(struct port *port)
{
	while (port->origin->connections)
		connection_close(port->origin->connections);
	uv_close((uv_handle_t *)&port->origin->listener, listener_closed);
}
