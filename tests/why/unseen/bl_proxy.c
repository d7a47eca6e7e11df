/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The proxy reads two pipelined requests from a client at once, forwards the first and keeps the
 *     second in its buffer; after the answer it goes back to epoll_wait without looking at the buffer, so the
 *     client waits for ever.
 *   culprit: proxy|on_client|on_origin
 *   victim: client-|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A proxy with keep-alive: an epoll loop carries requests of its clients to an origin, one at a time for each. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 3
#define LINE 64

struct connection {
	int client, origin;
	char input[512];
	size_t used;
	bool busy; /* the origin works for it */
	bool closed;
};

struct ends {
	int socket;
	int number;
};

static struct connection connections[CLIENTS];
static bool healthy;

/* ---- the proxy ---- */

/* Sends the first whole request in the buffer to the origin. */
static void forward(struct connection *connection)
{
	char *end;
	size_t size;

	if (connection->busy)
		return;
	end = memchr(connection->input, '\n', connection->used);
	if (!end)
		return;
	size = (size_t)(end + 1 - connection->input);
	if (write(connection->origin, connection->input, size) < 0)
		return;
	connection->used -= size;
	memmove(connection->input, end + 1, connection->used);
	connection->busy = true;
}

static void on_client(struct connection *connection)
{
	ssize_t size = read(connection->client, connection->input + connection->used,
		sizeof connection->input - connection->used);

	if (size <= 0) {
		connection->closed = true;
		return;
	}
	connection->used += (size_t)size;
	forward(connection);
}

static void on_origin(struct connection *connection)
{
	char answer[256];
	ssize_t size = read(connection->origin, answer, sizeof answer);

	if (size <= 0 || write(connection->client, answer, (size_t)size) < 0) {
		connection->closed = true;
		return;
	}
	connection->busy = false;
	if (healthy)
		forward(connection);
}

static void watch(int epoll, int descriptor, unsigned number)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};

	epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void *proxy_run(void *data)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int open = CLIENTS;

	(void)data;
	pthread_setname_np(pthread_self(), "proxy");
	for (unsigned i = 0; i < CLIENTS; i++) {
		watch(epoll, connections[i].client, i * 2);
		watch(epoll, connections[i].origin, i * 2 + 1);
	}
	while (open > 0) {
		struct epoll_event events[4];
		int count = epoll_wait(epoll, events, 4, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = &connections[events[i].data.u32 / 2];

			if (connection->closed)
				continue;
			if (events[i].data.u32 % 2)
				on_origin(connection);
			else
				on_client(connection);
			if (connection->closed) {
				close(connection->client);
				close(connection->origin);
				open--;
			}
		}
	}
	close(epoll);
	return NULL;
}

/* ---- the others ---- */

static void *origin_run(void *data)
{
	struct ends *self = data;
	char request[256], answer[300];
	ssize_t size;

	pthread_setname_np(pthread_self(), "origin");
	while ((size = read(self->socket, request, sizeof request - 1)) > 0) {
		request[size] = 0;
		usleep(2000);
		size = snprintf(answer, sizeof answer, "200 %s", request);
		if (write(self->socket, answer, (size_t)size) < 0)
			break;
	}
	close(self->socket);
	return NULL;
}

static int read_answers(int socket, int wanted)
{
	char byte;

	while (wanted > 0 && read(socket, &byte, 1) == 1)
		wanted -= byte == '\n';
	return wanted;
}

static void *client_run(void *data)
{
	struct ends *self = data;
	char text[LINE * 2], name[16];

	snprintf(name, sizeof name, "client-%d", self->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 40; i++) {
		/* One of the clients is a browser that asks for a page and its style sheet together. */
		bool both = self->number == 1 && i % 10 == 9;
		int size = snprintf(text, sizeof text,
			both ? "GET /page/%d\nGET /style.css\n" : "GET /item/%d\n", i);

		if (write(self->socket, text, (size_t)size) < 0 ||
			read_answers(self->socket, both ? 2 : 1))
			break;
	}
	close(self->socket);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct ends clients[CLIENTS], origins[CLIENTS];
	pthread_t proxy, threads[2 * CLIENTS];

	if (argc < 2)
		return 2;
	healthy = !strcmp(argv[1], "healthy");
	for (int i = 0; i < CLIENTS; i++) {
		int front[2], back[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, front) ||
			socketpair(AF_UNIX, SOCK_STREAM, 0, back))
			return 1;
		connections[i].client = front[0];
		connections[i].origin = back[0];
		clients[i] = (struct ends){front[1], i};
		origins[i] = (struct ends){back[1], i};
	}
	pthread_create(&proxy, NULL, proxy_run, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		pthread_create(&threads[2 * i], NULL, origin_run, &origins[i]);
		pthread_create(&threads[2 * i + 1], NULL, client_run, &clients[i]);
	}
	for (int i = 0; i < 2 * CLIENTS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(proxy, NULL);
	printf("all served\n");
	return 0;
}
