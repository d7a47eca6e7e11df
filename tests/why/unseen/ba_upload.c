/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: parse_head compares the value of Expect with regard to case, so the server doesn't answer
 *     "100-Continue" of the client "scanner" with 100 Continue, and waits in on_readable for the body, which
 *     the client only sends after that answer: both wait for each other
 *   culprit: parse_head|on_readable|on_accept
 *   victim: scanner|await_status|put_file|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An HTTP server for uploads on libevent, and the clients of an office: a printer, a backup, a scanner. */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3
#define FILES 4

struct server {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *report;
	int open, stored;
	int (*compare)(const char *, const char *);
};

struct upload {
	struct server *server;
	struct bufferevent *stream;
	size_t length; /* of the body that is still to come */
	bool has_head, expects;
};

struct client {
	pthread_t thread;
	const char *name, *expectation;
	unsigned short port;
	int stored;
};

static void upload_free(struct upload *upload)
{
	struct server *server = upload->server;

	bufferevent_free(upload->stream);
	free(upload);
	if (--server->open == 0 && server->stored == CLIENTS * FILES)
		event_base_loopbreak(server->base);
}

static void reply(struct upload *upload, const char *status)
{
	evbuffer_add_printf(bufferevent_get_output(upload->stream), "HTTP/1.1 %s\r\n\r\n", status);
}

/* Returns whether the whole head has come. */
__attribute__((noinline)) static bool parse_head(struct upload *upload, struct evbuffer *input)
{
	char *line;
	size_t size;

	while ((line = evbuffer_readln(input, &size, EVBUFFER_EOL_CRLF))) {
		bool is_end = size == 0;

		if (strncasecmp(line, "Content-Length: ", 16) == 0)
			upload->length = strtoul(line + 16, NULL, 10);
		else if (strncasecmp(line, "Expect: ", 8) == 0)
			upload->expects = upload->server->compare(line + 8, "100-continue") == 0;
		free(line);
		if (is_end) {
			upload->has_head = true;
			if (upload->expects)
				reply(upload, "100 Continue");
			return true;
		}
	}
	return false;
}

__attribute__((noinline)) static void on_readable(struct bufferevent *stream, void *data)
{
	struct upload *upload = data;
	struct evbuffer *input = bufferevent_get_input(stream);

	for (;;) {
		size_t got;

		if (!upload->has_head && !parse_head(upload, input))
			return;
		got = evbuffer_get_length(input);
		if (got > upload->length)
			got = upload->length;
		evbuffer_drain(input, got);
		upload->length -= got;
		if (upload->length > 0)
			return;
		upload->has_head = upload->expects = false;
		upload->server->stored++;
		reply(upload, "201 Created");
	}
}

static void on_event(struct bufferevent *stream, short what, void *data)
{
	(void)stream;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		upload_free(data);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t socket,
	struct sockaddr *address, int length, void *data)
{
	struct server *server = data;
	struct upload *upload = calloc(1, sizeof(*upload));

	(void)listener;
	(void)address;
	(void)length;
	upload->server = server;
	upload->stream = bufferevent_socket_new(server->base, socket, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(upload->stream, on_readable, NULL, on_event, upload);
	bufferevent_enable(upload->stream, EV_READ | EV_WRITE);
	server->open++;
}

static void on_report(evutil_socket_t socket, short what, void *data)
{
	struct server *server = data;

	(void)socket;
	(void)what;
	fprintf(stderr, "%d open, %d stored\n", server->open, server->stored);
}

/* Returns the number of the status, or 0. */
__attribute__((noinline)) static int await_status(int socket)
{
	char text[64];
	size_t length = 0;
	int status = 0;

	while (length < sizeof(text) - 1 && read(socket, text + length, 1) == 1) {
		text[++length] = '\0';
		if (length >= 4 && strcmp(text + length - 4, "\r\n\r\n") == 0)
			break;
	}
	if (length > 0)
		sscanf(text, "HTTP/1.1 %d", &status);
	return status;
}

__attribute__((noinline)) static bool put_file(struct client *client, int socket, int number)
{
	char head[160], body[3000];
	int length;

	length = snprintf(head, sizeof(head),
		"PUT /%s/%d HTTP/1.1\r\nContent-Length: %zu\r\n%s%s\r\n", client->name, number,
		sizeof(body), client->expectation, *client->expectation ? "\r\n" : "");
	if (write(socket, head, (size_t)length) != length)
		return false;
	if (*client->expectation && await_status(socket) != 100)
		return false;
	memset(body, 'a' + number, sizeof(body));
	if (write(socket, body, sizeof(body)) != sizeof(body))
		return false;
	return await_status(socket) == 201;
}

static void *run_client(void *data)
{
	struct client *client = data;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = client->port};
	int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	pthread_setname_np(pthread_self(), client->name);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(handle, (struct sockaddr *)&address, sizeof(address)) == 0)
		for (int i = 0; i < FILES && put_file(client, handle, i); i++) {
			client->stored++;
			usleep(5000);
		}
	close(handle);
	return NULL;
}

int main(int argc, char **argv)
{
	struct client clients[CLIENTS] = {
		{.name = "printer", .expectation = ""},
		{.name = "backup", .expectation = "Expect: 100-continue"},
		{.name = "scanner", .expectation = "Expect: 100-Continue"},
	};
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct timeval period = {0, 250000};
	socklen_t size = sizeof(address);
	struct server server = {0};

	if (argc != 2)
		return 2;
	server.compare = strcmp(argv[1], "healthy") ? strcmp : strcasecmp;
	server.base = event_base_new();
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.listener = evconnlistener_new_bind(server.base, on_accept, &server,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 16, (struct sockaddr *)&address,
		sizeof(address));
	if (!server.listener ||
		getsockname(evconnlistener_get_fd(server.listener), (struct sockaddr *)&address,
			&size))
		return 1;
	server.report = event_new(server.base, -1, EV_PERSIST, on_report, &server);
	event_add(server.report, &period);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i].port = address.sin_port;
		pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
	}
	event_base_dispatch(server.base);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i].thread, NULL);
	event_free(server.report);
	evconnlistener_free(server.listener);
	event_base_free(server.base);
	printf("%d stored\n", server.stored);
	return server.stored == CLIENTS * FILES ? 0 : 1;
}
