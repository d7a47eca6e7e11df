/* SPDX-License-Identifier: ISC */
/* Lines on a connection, and listening for connections. */
#include "port.h"

#include <stdlib.h>
#include <string.h>

struct talk *talk_take(struct thrum_loop *loop, struct port *port)
{
	struct talk *talk = calloc(1, sizeof *talk);
	struct thrum_value connection;

	if (!talk || !thrum_loop_take(loop, &connection)) {
		free(talk);
		return NULL;
	}
	talk->port = port;
	talk->connection = connection.data;
	return talk;
}

void talk_close(struct talk *talk)
{
	if (talk)
		thrum_promise_unref(thrum_connection_close(talk->connection));
	free(talk);
}

/* ---- Reading and writing --------------------------------------------------------------------- */

static bool keep(struct talk *talk, const struct thrum_bytes *bytes)
{
	struct lines *lines = &talk->lines;

	if (!bytes || bytes->size > sizeof lines->text - lines->used)
		return false;
	memcpy(lines->text + lines->used, bytes->data, bytes->size);
	lines->used += bytes->size;
	return true;
}

static struct thrum_promise *got_bytes(struct thrum_loop *loop, void *bytes, void *data)
{
	return keep(data, bytes) ? talk_next(data) : thrum_promise_return(loop, thrum_value_none());
}

struct thrum_promise *talk_next(struct talk *talk)
{
	if (lines_take(&talk->lines, talk->line))
		return thrum_promise_return(talk->port->loop, thrum_value_static(talk->line));
	return thrum_promise_bind(thrum_connection_read(talk->connection), got_bytes, talk, NULL);
}

struct thrum_promise *talk_say(struct talk *talk, const char *line)
{
	size_t size = strlen(line) + 1;
	char *copy = malloc(size);

	if (!copy)
		return thrum_promise_fail(talk->port->loop, -ENOMEM, NULL);
	memcpy(copy, line, size - 1);
	copy[size - 1] = '\n';
	return thrum_connection_write(talk->connection, thrum_value_own(copy, free), size);
}

static struct thrum_promise *watch(struct thrum_loop *loop, void *bytes, void *data)
{
	struct talk *talk = data;

	if (!keep(talk, bytes))
		return thrum_promise_fail(loop, -ECONNRESET, NULL);
	return thrum_promise_bind(thrum_connection_read(talk->connection), watch, talk, NULL);
}

struct thrum_promise *talk_unless_gone(struct talk *talk, struct thrum_promise *promise)
{
	struct thrum_promise *either[] = {promise, NULL};

	if (thrum_promise_state(promise) != THRUM_PROMISE_PENDING)
		return promise;
	either[1] = thrum_promise_bind(thrum_connection_read(talk->connection), watch, talk, NULL);
	return thrum_promise_pick(talk->port->loop, either, 2);
}

/* ---- Listening ------------------------------------------------------------------------------- */

struct service {
	struct service *next;
	struct port *port;
	struct thrum_listener *listener;
	talk_serve *serve;
};

static struct thrum_promise *close_talk(struct thrum_loop *loop, void *data)
{
	talk_close(data);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *accepted(struct thrum_loop *loop, void *connection, void *data)
{
	struct service *service = data;
	struct talk *talk = talk_take(loop, service->port);

	(void)connection;
	if (talk)
		thrum_switch_add(service->port->sessions,
			thrum_promise_finalize(service->serve(talk), close_talk, talk, NULL));
	return thrum_promise_bind(thrum_listener_accept(service->listener), accepted, service,
		NULL);
}

int service_start(struct port *port, talk_serve *serve, struct sockaddr_in *address)
{
	struct service *service = calloc(1, sizeof *service);
	int status;

	if (!service)
		return -ENOMEM;
	uv_ip4_addr("127.0.0.1", 0, address);
	status = thrum_tcp_listen(port->loop, (struct sockaddr *)address, 128, &service->listener);
	if (status) {
		free(service);
		return status;
	}
	address->sin_port = htons((uint16_t)thrum_listener_port(service->listener));
	service->port = port;
	service->serve = serve;
	service->next = port->services;
	port->services = service;
	thrum_switch_add(port->sessions,
		thrum_promise_bind(thrum_listener_accept(service->listener), accepted, service,
			NULL));
	return 0;
}

void services_stop(struct port *port)
{
	struct service *service;

	while ((service = port->services)) {
		port->services = service->next;
		thrum_promise_unref(thrum_listener_close(service->listener));
		free(service);
	}
}
