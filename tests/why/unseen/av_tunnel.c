/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pause_input takes EPOLLIN off the client's socket when too much is buffered; flush_output then
 *     writes all of it at once, so on_writable, which alone resumes the input, never runs: nobody reads the
 *     client any more
 *   culprit: pause_input|flush_output
 *   victim: main|send_upload|receive_upload|run_tunnel|client|origin
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A tunnel between a client that uploads and an origin, with a loop on epoll and limits for what it
 * buffers. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	UPLOAD = 600 << 10,
	CHUNK = 16 << 10,
	HIGH = 48 << 10,
	LOW = 8 << 10
};

struct tunnel {
	int epoll;
	int client, origin;
	char buffer[HIGH + CHUNK];
	size_t buffered;
	uint32_t origin_events;
	bool paused, ended, closed;
	bool lift_in_flush;
	unsigned pauses;
};

struct peer {
	int socket;
	size_t bytes;
};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void watch(struct tunnel *tunnel, int socket, uint32_t events, int operation)
{
	struct epoll_event event = {.events = events, .data.fd = socket};

	if (epoll_ctl(tunnel->epoll, operation, socket, &event))
		abort();
}

static __attribute__((noinline)) void pause_input(struct tunnel *tunnel)
{
	watch(tunnel, tunnel->client, 0, EPOLL_CTL_MOD);
	tunnel->paused = true;
	tunnel->pauses++;
}

static __attribute__((noinline)) void resume_input(struct tunnel *tunnel)
{
	tunnel->paused = false;
	watch(tunnel, tunnel->client, EPOLLIN, EPOLL_CTL_MOD);
}

static void watch_origin(struct tunnel *tunnel, uint32_t events)
{
	if (tunnel->origin_events != events)
		watch(tunnel, tunnel->origin, events, EPOLL_CTL_MOD);
	tunnel->origin_events = events;
}

/* Writes as much as the origin takes; asks for on_writable if something is left. */
static __attribute__((noinline)) void flush_output(struct tunnel *tunnel)
{
	ssize_t size;

	while (tunnel->buffered) {
		size = write(tunnel->origin, tunnel->buffer, tunnel->buffered);
		if (size < 0 && errno == EAGAIN)
			break;
		if (size <= 0)
			exit(1);
		tunnel->buffered -= (size_t)size;
		memmove(tunnel->buffer, tunnel->buffer + size, tunnel->buffered);
	}
	watch_origin(tunnel, tunnel->buffered ? EPOLLOUT : 0);
	if (tunnel->lift_in_flush && tunnel->paused && tunnel->buffered <= LOW)
		resume_input(tunnel);
	if (tunnel->ended && !tunnel->buffered && !tunnel->closed) {
		shutdown(tunnel->origin, SHUT_WR);
		tunnel->closed = true;
	}
}

static void on_writable(struct tunnel *tunnel)
{
	flush_output(tunnel);
	if (tunnel->paused && tunnel->buffered <= LOW)
		resume_input(tunnel);
}

static void on_readable(struct tunnel *tunnel)
{
	ssize_t size;

	/* Small pieces are gathered, as each write costs a packet. */
	while (tunnel->buffered < HIGH) {
		size = read(tunnel->client, tunnel->buffer + tunnel->buffered, CHUNK);
		if (size < 0 && errno == EAGAIN)
			break;
		if (size <= 0) {
			epoll_ctl(tunnel->epoll, EPOLL_CTL_DEL, tunnel->client, NULL);
			tunnel->ended = true;
			break;
		}
		tunnel->buffered += (size_t)size;
	}
	if (!tunnel->ended && tunnel->buffered >= HIGH)
		pause_input(tunnel);
	flush_output(tunnel);
}

static void run_tunnel(struct tunnel *tunnel)
{
	struct epoll_event events[4];
	int count;

	while (!tunnel->closed) {
		count = epoll_wait(tunnel->epoll, events, 4, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == tunnel->origin)
				on_writable(tunnel);
			else if (!tunnel->paused && !tunnel->ended)
				on_readable(tunnel);
		}
	}
}

static void *send_upload(void *data)
{
	struct peer *peer = data;
	char part[12 << 10] = "upload";
	size_t limit;
	ssize_t size;

	pthread_setname_np(pthread_self(), "client");
	while (peer->bytes < UPLOAD) {
		/* First the headers and a small part, then all that goes. */
		limit = peer->bytes < 64 << 10 ? 4 << 10 : sizeof(part);
		if (limit > UPLOAD - peer->bytes)
			limit = UPLOAD - peer->bytes;
		size = write(peer->socket, part, limit);
		if (size <= 0)
			return NULL;
		peer->bytes += (size_t)size;
		if (peer->bytes < 64 << 10)
			pause_ms(3);
	}
	shutdown(peer->socket, SHUT_WR);
	return NULL;
}

static void *receive_upload(void *data)
{
	struct peer *peer = data;
	char part[32 << 10];
	ssize_t size;

	pthread_setname_np(pthread_self(), "origin");
	while ((size = read(peer->socket, part, sizeof(part))) > 0) {
		peer->bytes += (size_t)size;
		if (peer->bytes > 256 << 10)
			pause_ms(2); /* now it writes to its disk */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	int left[2], right[2], size = 128 << 10;
	struct peer client = {0}, origin = {0};
	pthread_t sender, receiver;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, left) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, right))
		return 1;
	setsockopt(left[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(right[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	tunnel->lift_in_flush = argc < 2 || strcmp(argv[1], "broken") != 0;
	tunnel->client = left[1];
	tunnel->origin = right[0];
	client.socket = left[0];
	origin.socket = right[1];
	/* O_NONBLOCK only for the tunnel's own ends. */
	fcntl(tunnel->client, F_SETFL, O_NONBLOCK);
	fcntl(tunnel->origin, F_SETFL, O_NONBLOCK);
	tunnel->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(tunnel, tunnel->client, EPOLLIN, EPOLL_CTL_ADD);
	watch(tunnel, tunnel->origin, 0, EPOLL_CTL_ADD);
	pthread_create(&sender, NULL, send_upload, &client);
	pthread_create(&receiver, NULL, receive_upload, &origin);
	run_tunnel(tunnel);
	pthread_join(sender, NULL);
	pthread_join(receiver, NULL);
	printf("%zu bytes went through, %u pauses\n", origin.bytes, tunnel->pauses);
	return origin.bytes == UPLOAD ? 0 : 1;
}
