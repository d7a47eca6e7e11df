/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: server_expect_body raises the low-water mark for reading to the size of the body, and server_body
 *     doesn't set it back for the next header: after a long frame a short one stays in the buffer of the
 *     server, server_read isn't called, and the client waits for the answer
 *   culprit: server_expect_body|server_body|server_read|bufferevent_setwatermark
 *   victim: client|main|event_base_dispatch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A key-value server that speaks in frames, with a client in the same process. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER 8

struct header {
	uint32_t size;
	uint32_t serial;
};

struct server {
	struct bufferevent *stream;
	struct header header;
	bool in_body;
	bool body_mark_only;
	int frames;
	unsigned checksum;
};

struct client {
	struct event_base *base;
	struct bufferevent *stream;
	struct event *pause;
	uint32_t serial;
	int answers;
};

static const unsigned sizes[] = {16, 20, 40, 64, 64, 300, 310, 900, 24, 48, 2000, 12};

#define FRAMES (sizeof(sizes) / sizeof(sizes[0]))

static void server_expect_header(struct server *server)
{
	server->in_body = false;
	bufferevent_setwatermark(server->stream, EV_READ, HEADER, 0);
}

static void server_expect_body(struct server *server)
{
	server->in_body = true;
	bufferevent_setwatermark(server->stream, EV_READ, server->header.size, 0);
}

static void server_answer(struct server *server)
{
	struct header answer = {sizeof(server->checksum), server->header.serial};

	bufferevent_write(server->stream, &answer, sizeof(answer));
	bufferevent_write(server->stream, &server->checksum, sizeof(server->checksum));
}

static bool server_header(struct server *server, struct evbuffer *input)
{
	if (evbuffer_get_length(input) < HEADER)
		return false;
	evbuffer_remove(input, &server->header, sizeof(server->header));
	server_expect_body(server);
	return true;
}

static bool server_body(struct server *server, struct evbuffer *input)
{
	unsigned char *bytes;

	if (evbuffer_get_length(input) < server->header.size)
		return false;
	bytes = evbuffer_pullup(input, server->header.size);
	server->checksum = 1;
	for (uint32_t i = 0; i < server->header.size; i++)
		server->checksum = server->checksum * 31 + bytes[i];
	evbuffer_drain(input, server->header.size);
	server->frames++;
	server_answer(server);
	if (server->body_mark_only)
		server->in_body = false;
	else
		server_expect_header(server);
	return true;
}

static void server_read(struct bufferevent *stream, void *data)
{
	struct server *server = data;
	struct evbuffer *input = bufferevent_get_input(stream);

	while (server->in_body ? server_body(server, input) : server_header(server, input))
		;
}

static void server_event(struct bufferevent *stream, short what, void *data)
{
	(void)data;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		bufferevent_disable(stream, EV_READ | EV_WRITE);
}

static void client_send(struct client *client)
{
	unsigned size = sizes[client->serial];
	struct header header = {size, client->serial};
	char *body = malloc(size);

	if (!body)
		abort();
	memset(body, 'k' + (int)client->serial, size);
	bufferevent_write(client->stream, &header, sizeof(header));
	bufferevent_write(client->stream, body, size);
	free(body);
}

static void client_pause_over(evutil_socket_t file, short what, void *data)
{
	(void)file;
	(void)what;
	client_send(data);
}

static void client_read(struct bufferevent *stream, void *data)
{
	struct client *client = data;
	struct evbuffer *input = bufferevent_get_input(stream);
	const struct timeval pause = {0, 15000};
	struct header header;
	unsigned checksum;

	if (evbuffer_get_length(input) < HEADER + sizeof(checksum))
		return;
	evbuffer_remove(input, &header, sizeof(header));
	evbuffer_remove(input, &checksum, sizeof(checksum));
	if (header.serial != client->serial) {
		fprintf(stderr, "client: answer %u for request %u\n", header.serial,
			client->serial);
		event_base_loopbreak(client->base);
		return;
	}
	client->answers++;
	if (++client->serial < FRAMES)
		event_add(client->pause, &pause);
	else
		event_base_loopexit(client->base, NULL);
}

static void client_event(struct bufferevent *stream, short what, void *data)
{
	struct client *client = data;

	(void)stream;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		event_base_loopbreak(client->base);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	struct event_base *base = event_base_new();
	struct server server = {.body_mark_only = !strcmp(mode, "broken")};
	struct client client = {.base = base};
	evutil_socket_t sockets[2];

	if (!base || evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		return 2;
	evutil_make_socket_nonblocking(sockets[0]);
	evutil_make_socket_nonblocking(sockets[1]);

	server.stream = bufferevent_socket_new(base, sockets[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(server.stream, server_read, NULL, server_event, &server);
	server_expect_header(&server);
	bufferevent_enable(server.stream, EV_READ | EV_WRITE);

	client.stream = bufferevent_socket_new(base, sockets[1], BEV_OPT_CLOSE_ON_FREE);
	client.pause = evtimer_new(base, client_pause_over, &client);
	bufferevent_setcb(client.stream, client_read, NULL, client_event, &client);
	bufferevent_enable(client.stream, EV_READ | EV_WRITE);
	client_send(&client);

	event_base_dispatch(base);
	event_free(client.pause);
	bufferevent_free(client.stream);
	bufferevent_free(server.stream);
	event_base_free(base);
	printf("%d frames, %d answers\n", server.frames, client.answers);
	return client.answers == (int)FRAMES ? 0 : 1;
}
