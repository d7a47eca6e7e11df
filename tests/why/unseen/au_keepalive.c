/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: pool_put compares "Keep-Alive" with case, so it closes each connection after one answer; each GET
 *     then opens a new one, with a connect and a greeting that the healthy run has only at its beginning
 *   culprit: connect|greeting|pool_put|open_connection
 *   victim: GET
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* An HTTP-like client with a pool of connections, on libevent, and the server that it talks to. */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <thrum.h>

#define GETS 36
#define CHAINS 3

struct connection {
	struct connection *next; /* in the pool */
	struct bufferevent *stream;
	struct get *get;
	bool is_greeted;
	thrum_task connect, greeting;
};

struct get {
	int number;
	struct connection *connection;
	thrum_task task;
};

static struct event_base *base;
static struct sockaddr_in address;
static struct connection *pool;
static int (*compare)(const char *, const char *);
static int next_get, finished, opened;

/* ---- The server ---- */

static void greet(evutil_socket_t descriptor, short what, void *data)
{
	(void)descriptor;
	(void)what;
	bufferevent_write(data, "HELLO\n", 6);
}

static void server_read(struct bufferevent *stream, void *data)
{
	char *line;

	(void)data;
	while ((line = evbuffer_readln(bufferevent_get_input(stream), NULL, EVBUFFER_EOL_LF))) {
		evbuffer_add_printf(bufferevent_get_output(stream), "200 Keep-Alive %s\n", line);
		free(line);
	}
}

static void server_event(struct bufferevent *stream, short what, void *data)
{
	(void)data;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		bufferevent_free(stream);
}

/* As if a key were exchanged, the greeting takes a while. */
static void server_accept(struct evconnlistener *listener, evutil_socket_t descriptor,
	struct sockaddr *peer, int length, void *data)
{
	struct bufferevent *stream = bufferevent_socket_new(base, descriptor,
		BEV_OPT_CLOSE_ON_FREE);
	struct timeval time = {0, 6000};

	(void)listener;
	(void)peer;
	(void)length;
	(void)data;
	bufferevent_setcb(stream, server_read, NULL, server_event, NULL);
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	event_base_once(base, -1, EV_TIMEOUT, greet, stream, &time);
}

/* ---- The client ---- */

static void connection_free(struct connection *connection)
{
	bufferevent_free(connection->stream);
	free(connection);
}

/* Keeps the connection for the next GET, if the server is willing. */
static void pool_put(struct connection *connection, const char *header)
{
	connection->get = NULL;
	if (compare(header, "keep-alive")) {
		connection_free(connection);
		return;
	}
	connection->next = pool;
	pool = connection;
}

static void send_get(struct connection *connection)
{
	evbuffer_add_printf(bufferevent_get_output(connection->stream), "GET /%d\n",
		connection->get->number);
}

static void start_get(evutil_socket_t descriptor, short what, void *data);

static void finish_get(struct get *get, const char *header)
{
	struct timeval pause = {0, 2000};

	THRUM_RUN (get->task) {
		pool_put(get->connection, header);
		thrum_task_resolve(get->task);
	}
	free(get);
	if (++finished == GETS)
		event_base_loopexit(base, NULL);
	else if (next_get < GETS)
		event_base_once(base, -1, EV_TIMEOUT, start_get, NULL, &pause);
}

static void client_read(struct bufferevent *stream, void *data)
{
	struct connection *connection = data;
	char header[32],
		*line = evbuffer_readln(bufferevent_get_input(stream), NULL, EVBUFFER_EOL_LF);

	if (!line)
		return;
	if (!connection->is_greeted) {
		connection->is_greeted = true;
		thrum_task_resolve(connection->greeting);
		send_get(connection);
	} else if (sscanf(line, "200 %31s", header) == 1) {
		finish_get(connection->get, header);
	}
	free(line);
}

static void client_event(struct bufferevent *stream, short what, void *data)
{
	struct connection *connection = data;

	(void)stream;
	if (!(what & BEV_EVENT_CONNECTED))
		exit(1);
	thrum_task_resolve(connection->connect);
	THRUM_RUN (connection->get->task)
		connection->greeting = thrum_task_create(THRUM_KIND_REQUEST, "greeting");
	thrum_task_wait(connection->get->task, connection->greeting);
}

static struct connection *open_connection(struct get *get)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	opened++;
	connection->get = get;
	connection->stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(connection->stream, client_read, NULL, client_event, connection);
	bufferevent_enable(connection->stream, EV_READ | EV_WRITE);
	connection->connect = thrum_task_create(THRUM_KIND_REQUEST, "connect");
	thrum_task_wait(get->task, connection->connect);
	bufferevent_socket_connect(connection->stream, (struct sockaddr *)&address,
		sizeof(address));
	return connection;
}

static void start_get(evutil_socket_t descriptor, short what, void *data)
{
	struct get *get = calloc(1, sizeof(*get));

	(void)descriptor;
	(void)what;
	(void)data;
	get->number = next_get++;
	get->task = thrum_task_createf(THRUM_KIND_TASK, "GET /%d", get->number);
	thrum_task_should_resolve(get->task);
	THRUM_RUN (get->task) {
		if (!pool) {
			get->connection = open_connection(get);
			break;
		}
		get->connection = pool;
		pool = pool->next;
		get->connection->get = get;
		send_get(get->connection);
	}
}

int main(int argc, char **argv)
{
	struct evconnlistener *listener;
	socklen_t length = sizeof(address);
	struct connection *next;

	if (argc != 2)
		return 2;
	compare = strcmp(argv[1], "broken") ? strcasecmp : strcmp;
	thrum_start(NULL);
	base = event_base_new();
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, server_accept, NULL, LEV_OPT_CLOSE_ON_FREE, 16,
		(struct sockaddr *)&address, sizeof(address));
	if (!listener ||
		getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &length))
		return 1;
	for (int i = 0; i < CHAINS; i++)
		start_get(-1, 0, NULL);
	event_base_dispatch(base);
	thrum_stop();

	for (; pool; pool = next) {
		next = pool->next;
		connection_free(pool);
	}
	evconnlistener_free(listener);
	event_base_free(base);
	printf("%d answers over %d connections\n", finished, opened);
	return 0;
}
