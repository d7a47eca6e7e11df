/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: flush_reply keeps the rest of a tile when the socket is full, and nobody watches for EPOLLOUT.
 *   culprit: flush_reply|EPOLLOUT
 *   victim: show_map|receive_tile|serve_tiles
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Serves map tiles over TCP with one epoll loop. Each viewer is a thread with a connection. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	VIEWERS = 3,
	TILES = 20,
	SMALL = 6000,
	OVERVIEW = 3000000,
	MOST = 16
};

struct request {
	uint32_t bytes, column, row;
};

struct connection {
	int socket;
	char *unsent;
	size_t start, end;
};

static bool watch_writes;
static int epoll, listener;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void watch(struct connection *connection, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = connection};

	if (epoll_ctl(epoll, operation, connection ? connection->socket : listener, &event))
		abort();
}

/* Sends as much as the socket takes now. */
static bool flush_reply(struct connection *connection)
{
	while (connection->start < connection->end) {
		ssize_t sent = send(connection->socket, connection->unsent + connection->start,
			connection->end - connection->start, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN) {
			if (watch_writes)
				watch(connection, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
			return true;
		}
		if (sent < 0)
			return false;
		connection->start += sent;
	}
	free(connection->unsent);
	connection->unsent = NULL;
	connection->start = connection->end = 0;
	if (watch_writes)
		watch(connection, EPOLL_CTL_MOD, EPOLLIN);
	return true;
}

static bool answer_request(struct connection *connection)
{
	struct request request;
	ssize_t got = recv(connection->socket, &request, sizeof(request), MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN;
	if (got != sizeof(request))
		return false;
	connection->unsent = malloc(request.bytes);
	if (!connection->unsent)
		abort();
	memset(connection->unsent, 'a' + (request.column + request.row) % 26, request.bytes);
	connection->start = 0;
	connection->end = request.bytes;
	return flush_reply(connection);
}

static void accept_viewer(void)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	int size = 65536;

	if (!connection)
		abort();
	connection->socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (connection->socket < 0)
		abort();
	setsockopt(connection->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	watch(connection, EPOLL_CTL_ADD, EPOLLIN);
}

static void *serve_tiles(void *unused)
{
	struct epoll_event events[MOST];
	int gone = unused != NULL;

	while (gone < VIEWERS) {
		int count = epoll_wait(epoll, events, MOST, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;
			bool good = true;

			if (!connection) {
				accept_viewer();
				continue;
			}
			if (events[i].events & EPOLLOUT)
				good = flush_reply(connection);
			if (good && events[i].events & (EPOLLIN | EPOLLHUP))
				good = answer_request(connection);
			if (!good) {
				close(connection->socket);
				free(connection->unsent);
				free(connection);
				gone++;
			}
		}
	}
	return NULL;
}

static size_t receive_tile(int server, size_t bytes)
{
	static __thread char buffer[32768];
	size_t have = 0;

	while (have < bytes) {
		size_t left = bytes - have;
		ssize_t got = recv(server, buffer, left < sizeof(buffer) ? left : sizeof(buffer),
			0);

		if (got <= 0)
			break;
		have += got;
	}
	return have;
}

/* Shows the neighbourhood tile by tile; the last viewer also shows an overview of the country. */
static void *show_map(void *data)
{
	int viewer = (int)(intptr_t)data, server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t shown = 0;

	if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof(address)))
		abort();
	for (int tile = 0; tile <= TILES; tile++) {
		bool overview = tile == TILES;
		struct request request = {overview ? OVERVIEW : SMALL, tile % 5, tile / 5};

		if (overview && viewer != VIEWERS - 1)
			break;
		if (send(server, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
			abort();
		usleep(overview ? 12000 : 1000); /* draws the frame */
		shown += receive_tile(server, request.bytes);
	}
	close(server);
	printf("viewer %d: %zu bytes\n", viewer, shown);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, viewers[VIEWERS];
	socklen_t length = sizeof(address);

	watch_writes = argc > 1 && !strcmp(argv[1], "healthy");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) ||
		listen(listener, 8))
		return 1;
	getsockname(listener, (struct sockaddr *)&address, &length);
	watch(NULL, EPOLL_CTL_ADD, EPOLLIN);
	pthread_create(&server, NULL, serve_tiles, NULL);
	for (int i = 0; i < VIEWERS; i++)
		pthread_create(&viewers[i], NULL, show_map, (void *)(intptr_t)i);
	for (int i = 0; i < VIEWERS; i++)
		pthread_join(viewers[i], NULL);
	pthread_join(server, NULL);
	return 0;
}
