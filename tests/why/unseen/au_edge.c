/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: forward_bytes reads once for each event of the edge-triggered epoll, though more than one buffer
 *     of bytes is there; no further event comes for the rest of the large request, so the origin waits for
 *     its body, and the client for the answer
 *   culprit: forward_bytes|forwarder
 *   victim: client-\d|origin-\d|ask|answer_requests
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A proxy between clients and an origin: one thread forwards the bytes of all connections with epoll. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3
#define REQUESTS 12
#define BUFFER 4096
#define LARGE 20000

struct side {
	int descriptor;
	struct side *other;
};

struct tunnel {
	struct side client, origin;
	int client_end, origin_end; /* the far ends */
};

static struct tunnel tunnels[CLIENTS];
static bool until_empty;

static bool write_all(int descriptor, const void *data, size_t size)
{
	struct pollfd room = {descriptor, POLLOUT, 0};
	const char *bytes = data;
	ssize_t sent;

	while (size > 0) {
		sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
		if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
			poll(&room, 1, -1);
			continue;
		}
		if (sent <= 0)
			return false;
		bytes += sent;
		size -= (size_t)sent;
	}
	return true;
}

static bool read_all(int descriptor, void *data, size_t size)
{
	char *bytes = data;
	ssize_t got;

	for (; size > 0; size -= (size_t)got, bytes += got) {
		got = recv(descriptor, bytes, size, 0);
		if (got <= 0)
			return false;
	}
	return true;
}

/* ---- The proxy ---- */

/* Returns false at the end of the input. */
static bool forward_bytes(struct side *from)
{
	char buffer[BUFFER];
	ssize_t got;

	do {
		got = recv(from->descriptor, buffer, sizeof(buffer), 0);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		if (got == 0)
			return false;
		if (!write_all(from->other->descriptor, buffer, (size_t)got))
			return false;
	} while (until_empty);
	return true;
}

static void watch(int epoll, struct side *side, struct side *other)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = side};

	side->other = other;
	fcntl(side->descriptor, F_SETFL, O_NONBLOCK);
	epoll_ctl(epoll, EPOLL_CTL_ADD, side->descriptor, &event);
}

static void *forwarder(void *data)
{
	struct epoll_event events[8];
	int epoll = epoll_create1(EPOLL_CLOEXEC), open = 2 * CLIENTS, count;

	(void)data;
	pthread_setname_np(pthread_self(), "forwarder");
	for (int i = 0; i < CLIENTS; i++) {
		watch(epoll, &tunnels[i].client, &tunnels[i].origin);
		watch(epoll, &tunnels[i].origin, &tunnels[i].client);
	}
	while (open > 0) {
		count = epoll_wait(epoll, events, 8, -1);
		for (int i = 0; i < count; i++) {
			struct side *from = events[i].data.ptr;

			if (forward_bytes(from))
				continue;
			shutdown(from->other->descriptor, SHUT_WR);
			epoll_ctl(epoll, EPOLL_CTL_DEL, from->descriptor, NULL);
			open--;
		}
	}
	close(epoll);
	return NULL;
}

/* ---- The origin: answers each request with a sum of its bytes ---- */

static void *answer_requests(void *data)
{
	const struct tunnel *tunnel = data;
	static __thread unsigned char body[LARGE];
	uint32_t size, sum;
	char name[16];

	snprintf(name, sizeof(name), "origin-%d", (int)(tunnel - tunnels));
	pthread_setname_np(pthread_self(), name);
	while (read_all(tunnel->origin_end, &size, sizeof(size)) && size <= LARGE) {
		if (!read_all(tunnel->origin_end, body, size))
			break;
		sum = 0;
		for (uint32_t i = 0; i < size; i++)
			sum += body[i];
		usleep(1000);
		if (!write_all(tunnel->origin_end, &sum, sizeof(sum)))
			break;
	}
	shutdown(tunnel->origin_end, SHUT_WR);
	return NULL;
}

/* ---- Clients ---- */

static uint32_t size_of_request(int client, int number)
{
	if (client == 1 && number == 7)
		return LARGE;
	return 200 + (uint32_t)(number * 97 + client * 31);
}

static bool ask(int descriptor, uint32_t size)
{
	static __thread unsigned char message[sizeof(size) + LARGE];
	uint32_t sum;

	memcpy(message, &size, sizeof(size));
	memset(message + sizeof(size), 1, size);
	return write_all(descriptor, message, sizeof(size) + size) &&
		read_all(descriptor, &sum, sizeof(sum)) && sum == size;
}

static void *client(void *data)
{
	const struct tunnel *tunnel = data;
	int number = (int)(tunnel - tunnels);
	intptr_t answered = 0;
	char name[16];

	snprintf(name, sizeof(name), "client-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < REQUESTS; i++) {
		if (ask(tunnel->client_end, size_of_request(number, i)))
			answered++;
		usleep(2000);
	}
	shutdown(tunnel->client_end, SHUT_WR);
	return (void *)answered;
}

static void pair(int *near, int *far)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		exit(1);
	*near = ends[0];
	*far = ends[1];
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], origins[CLIENTS], proxy;
	long total = 0;
	void *answered;

	if (argc != 2)
		return 2;
	until_empty = strcmp(argv[1], "broken") != 0;
	for (int i = 0; i < CLIENTS; i++) {
		pair(&tunnels[i].client.descriptor, &tunnels[i].client_end);
		pair(&tunnels[i].origin.descriptor, &tunnels[i].origin_end);
	}
	pthread_create(&proxy, NULL, forwarder, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		pthread_create(&origins[i], NULL, answer_requests, &tunnels[i]);
		pthread_create(&clients[i], NULL, client, &tunnels[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i], &answered);
		total += (intptr_t)answered;
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(origins[i], NULL);
	pthread_join(proxy, NULL);
	printf("%ld answers\n", total);
	return total == CLIENTS * REQUESTS ? 0 : 1;
}
