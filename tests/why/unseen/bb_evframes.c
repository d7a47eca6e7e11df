/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: session_open limits the input buffer to 4096 bytes (the high watermark), but on_frames takes
 *     nothing out before a whole frame is there. A frame of 6000 bytes never fits: the bufferevent stops
 *     reading, on_frames is not called again, and the client waits for the reply for ever.
 *   culprit: session_open|on_frames
 *   victim: client|ask_server|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A storage server with frames of a length and a body, on libevent, and a blocking client. */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX 65536
#define CLIENTS 2

struct server {
	struct event_base *base;
	struct event *housekeeping;
	size_t input_limit;
	unsigned sessions, frames, rounds;
};

struct session {
	struct server *server;
	struct bufferevent *stream;
	unsigned number;
};

static void session_close(struct session *session)
{
	struct server *server = session->server;

	bufferevent_free(session->stream);
	free(session);
	if (--server->sessions == 0)
		event_del(server->housekeeping);
}

static void on_frames(struct bufferevent *stream, void *data)
{
	struct session *session = data;
	struct evbuffer *input = bufferevent_get_input(stream);
	uint32_t length;

	while (evbuffer_get_length(input) >= sizeof(length)) {
		evbuffer_copyout(input, &length, sizeof(length));
		length = ntohl(length);
		if (length > FRAME_MAX) {
			session_close(session);
			return;
		}
		if (evbuffer_get_length(input) < sizeof(length) + length)
			return; /* not whole yet */
		evbuffer_drain(input, sizeof(length) + length);
		session->server->frames++;
		bufferevent_write(stream, "+", 1);
	}
}

static void on_event(struct bufferevent *stream, short events, void *data)
{
	(void)stream;
	if (events & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		session_close(data);
}

static void session_open(struct server *server, int descriptor)
{
	struct session *session = calloc(1, sizeof(*session));

	evutil_make_socket_nonblocking(descriptor);
	session->server = server;
	session->number = ++server->sessions;
	session->stream = bufferevent_socket_new(server->base, descriptor, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(session->stream, on_frames, NULL, on_event, session);
	bufferevent_setwatermark(session->stream, EV_READ, 0, server->input_limit);
	bufferevent_enable(session->stream, EV_READ | EV_WRITE);
}

static void on_housekeeping(evutil_socket_t descriptor, short events, void *data)
{
	struct server *server = data;

	(void)descriptor;
	(void)events;
	server->rounds++;
}

/* Sends one frame and waits until the server has stored it. */
static void ask_server(int descriptor, const char *body, uint32_t size)
{
	char *frame = malloc(sizeof(size) + size);
	uint32_t length = htonl(size);
	char reply;

	memcpy(frame, &length, sizeof(length));
	memcpy(frame + sizeof(length), body, size);
	for (size_t done = 0; done < sizeof(size) + size;) {
		ssize_t n = write(descriptor, frame + done, sizeof(size) + size - done);

		if (n <= 0)
			abort();
		done += (size_t)n;
	}
	free(frame);
	if (read(descriptor, &reply, 1) != 1 || reply != '+')
		abort();
}

static void *run_client(void *data)
{
	static const uint32_t sizes[] = {100, 900, 40, 3000, 700, 6000, 250, 1200};
	int descriptor = *(int *)data;
	char *body = calloc(1, FRAME_MAX);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ask_server(descriptor, body, sizes[i]);
		usleep(12000);
	}
	free(body);
	close(descriptor);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval pause = {0, 50000};
	struct server server = {0};
	pthread_t threads[CLIENTS];
	int ends[CLIENTS][2];

	if (argc != 2)
		return 2;
	server.input_limit = strcmp(argv[1], "healthy") == 0 ? FRAME_MAX + 4 : 4096;
	server.base = event_base_new();
	server.housekeeping = event_new(server.base, -1, EV_PERSIST, on_housekeeping, &server);
	event_add(server.housekeeping, &pause);
	for (int i = 0; i < CLIENTS; i++) {
		char name[16];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]))
			return 1;
		session_open(&server, ends[i][0]);
		pthread_create(&threads[i], NULL, run_client, &ends[i][1]);
		snprintf(name, sizeof(name), "client %d", i + 1);
		pthread_setname_np(threads[i], name);
	}
	event_base_dispatch(server.base);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	printf("%u frames\n", server.frames);
	event_free(server.housekeeping);
	event_base_free(server.base);
	return server.frames == 8 * CLIENTS ? 0 : 1;
}
