/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The proxy watches its sockets edge-triggered, but on_readable reads only one buffer (256 bytes) for an event. client-3's upload of 900 bytes stays in the socket, no new edge comes, and the thread proxy sleeps in epoll_wait while client-3 waits for its answer.
 *   culprit: \bproxy\b|proxy_run|on_readable
 *   victim: client-3|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small proxy: one thread with epoll that answers framed requests of several clients. */
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
#include <unistd.h>

#define CLIENTS 5
#define CHUNK 256

struct frame {
	uint32_t size; /* of all, with this header */
	uint32_t number;
};

struct connection {
	int descriptor;
	size_t used;
	char buffer[2048];
	unsigned served;
};

struct client {
	int number, descriptor, requests;
	size_t upload; /* bytes of its last request */
	pthread_t thread;
};

static struct connection connections[CLIENTS];
static int poller;
static bool drain;

static void answer(struct connection *connection, const struct frame *request)
{
	struct frame reply = {sizeof(reply), request->number};

	if (write(connection->descriptor, &reply, sizeof(reply)) != sizeof(reply))
		perror("proxy: write");
	connection->served++;
}

static void parse(struct connection *connection)
{
	struct frame frame;

	while (connection->used >= sizeof(frame)) {
		memcpy(&frame, connection->buffer, sizeof(frame));
		if (connection->used < frame.size)
			break;
		answer(connection, &frame);
		connection->used -= frame.size;
		memmove(connection->buffer, connection->buffer + frame.size, connection->used);
	}
}

/* Returns false when the client has left. */
static bool on_readable(struct connection *connection)
{
	ssize_t size;

	do {
		size = read(connection->descriptor, connection->buffer + connection->used, CHUNK);
		if (size == 0)
			return false;
		if (size < 0)
			return errno == EAGAIN || errno == EINTR;
		connection->used += size;
		parse(connection);
	} while (drain);
	return true;
}

static void *proxy_run(void *data)
{
	struct epoll_event events[8];
	int open = CLIENTS;

	pthread_setname_np(pthread_self(), "proxy");
	while (open > 0) {
		int count = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (on_readable(connection))
				continue;
			epoll_ctl(poller, EPOLL_CTL_DEL, connection->descriptor, NULL);
			close(connection->descriptor);
			open--;
		}
	}
	return NULL;
}

static void request(struct client *client, uint32_t number, size_t size)
{
	char message[1024] = {0};
	struct frame frame = {size, number}, reply;

	memcpy(message, &frame, sizeof(frame));
	if (write(client->descriptor, message, size) != (ssize_t)size ||
		read(client->descriptor, &reply, sizeof(reply)) != sizeof(reply) ||
		reply.number != number)
		fprintf(stderr, "client-%d: bad answer\n", client->number);
}

static void *client_run(void *data)
{
	struct client *client = data;
	char name[16];

	snprintf(name, sizeof(name), "client-%d", client->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < client->requests; i++) {
		request(client, i, 40 + 8 * i);
		usleep(2000 + 500 * client->number);
	}
	if (client->upload)
		request(client, 1000, client->upload);
	for (int i = 0; i < 3; i++)
		request(client, 2000 + i, 24);
	/* Half a request, then the client leaves. */
	if (client->number == 2 && write(client->descriptor, "\x40\0\0", 3) != 3)
		perror("client-2");
	close(client->descriptor);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS] = {
		{.requests = 20},
		{.requests = 8, .upload = 200},
		{.requests = 15, .upload = 64},
		{.requests = 5, .upload = 900},
		{.requests = 25, .upload = 120},
	};
	pthread_t proxy;

	if (argc != 2)
		return 2;
	alarm(5);
	drain = strcmp(argv[1], "broken") != 0;
	poller = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			return 1;
		clients[i].number = i;
		clients[i].descriptor = pair[0];
		connections[i].descriptor = pair[1];
		fcntl(pair[1], F_SETFL, O_NONBLOCK);
		event.data.ptr = &connections[i];
		epoll_ctl(poller, EPOLL_CTL_ADD, pair[1], &event);
	}
	pthread_create(&proxy, NULL, proxy_run, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i].thread, NULL, client_run, &clients[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i].thread, NULL);
	pthread_join(proxy, NULL);
	for (int i = 0; i < CLIENTS; i++)
		printf("client-%d: %u requests\n", i, connections[i].served);
	return 0;
}
