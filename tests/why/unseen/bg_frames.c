/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: the server's bufferevent has a high watermark of 4096 bytes, so that it stops to read there.
 *     The handler on_frame waits until a frame is there as a whole; a frame of 6000 bytes never is.
 *   culprit: on_frame|watermark
 *   victim: on_statistics|statistics
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	HEADER = 4,
	LARGEST = 8000
};

struct peer {
	struct bufferevent *stream;
	unsigned frames;
};

static size_t most_buffered = 4096;
static struct event_base *base;
static unsigned frames, sum;
static struct sockaddr_in address;

/* ---- The server ---- */

static void handle_frame(struct peer *peer, const unsigned char *data, size_t size)
{
	uint32_t acknowledged = htonl(++peer->frames);

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	frames++;
	bufferevent_write(peer->stream, &acknowledged, sizeof acknowledged);
}

static void on_frame(struct bufferevent *stream, void *data)
{
	struct evbuffer *input = bufferevent_get_input(stream);
	struct peer *peer = data;

	for (;;) {
		uint32_t size;
		unsigned char *frame;

		if (evbuffer_copyout(input, &size, HEADER) < HEADER)
			return;
		size = ntohl(size);
		if (size > LARGEST) {
			fprintf(stderr, "too large: %u\n", size);
			bufferevent_disable(stream, EV_READ);
			return;
		}
		if (evbuffer_get_length(input) < HEADER + size)
			return;
		evbuffer_drain(input, HEADER);
		frame = evbuffer_pullup(input, size);
		handle_frame(peer, frame, size);
		evbuffer_drain(input, size);
	}
}

static void on_end(struct bufferevent *stream, short what, void *data)
{
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		bufferevent_free(stream);
		free(data);
	}
}

static void on_peer(struct evconnlistener *listener, evutil_socket_t socket, struct sockaddr *from,
	int size, void *data)
{
	struct peer *peer = calloc(1, sizeof *peer);

	(void)listener;
	(void)from;
	(void)size;
	(void)data;
	if (!peer)
		abort();
	peer->stream = bufferevent_socket_new(base, socket, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(peer->stream, on_frame, NULL, on_end, peer);
	bufferevent_setwatermark(peer->stream, EV_READ, 0, most_buffered);
	bufferevent_enable(peer->stream, EV_READ | EV_WRITE);
}

static void on_statistics(evutil_socket_t socket, short what, void *data)
{
	(void)socket;
	(void)what;
	(void)data;
	fprintf(stderr, "%u frames, sum %x\n", frames, sum);
}

/* ---- A client, a thread with a socket that blocks ---- */

static bool send_all(int socket, const unsigned char *data, size_t size)
{
	while (size) {
		ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		data += sent;
		size -= (size_t)sent;
	}
	return true;
}

static bool await_reply(int socket)
{
	uint32_t reply;

	return recv(socket, &reply, sizeof reply, MSG_WAITALL) == sizeof reply;
}

static void *sensor(void *data)
{
	static unsigned char frame[HEADER + LARGEST];
	struct timespec pause = {0, 10000000};
	int to = socket(AF_INET, SOCK_STREAM, 0);

	(void)data;
	if (to < 0 || connect(to, (struct sockaddr *)&address, sizeof address))
		return NULL;
	for (unsigned i = 1;; i++) {
		/* Each fortieth frame carries a picture. */
		uint32_t size = i % 40 == 0 ? 6000 : 200 + i % 100;
		uint32_t header = htonl(size);

		memcpy(frame, &header, HEADER);
		memset(frame + HEADER, (int)(i & 255), size);
		if (!send_all(to, frame, HEADER + size) || !await_reply(to))
			break;
		nanosleep(&pause, NULL);
	}
	close(to);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval interval = {0, 200000};
	struct evconnlistener *listener;
	struct event *statistics;
	socklen_t size = sizeof address;
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "healthy"))
		most_buffered = 64 * 1024;
	base = event_base_new();
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, on_peer, NULL,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 8, (struct sockaddr *)&address,
		sizeof address);
	if (!listener ||
		getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size))
		return 1;
	statistics = event_new(base, -1, EV_PERSIST, on_statistics, NULL);
	event_add(statistics, &interval);
	if (pthread_create(&thread, NULL, sensor, NULL))
		return 1;
	return event_base_dispatch(base);
}
