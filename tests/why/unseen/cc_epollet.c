/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The event loop watches its connections edge-triggered, but on_readable reads only once for each event. The rest of a request that is larger than its buffer stays in the socket, no further event comes, and the client waits for its answer.
 *   culprit: run_loop|on_readable|event-loop
 *   victim: post_form|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
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

/* A server of forms: one thread with epoll, and clients that post forms of several sizes. */

#define CLIENTS 3

struct connection {
	int fd;
	uint32_t need; /* the size of the request; 0: unknown */
	uint32_t have;
	char head[4];
};

static bool broken;
static int epoll;
static struct connection connections[CLIENTS];
static int client_ends[CLIENTS];

/* Takes in bytes of a request, and answers when it is complete. */
static void consume(struct connection *connection, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (connection->have < 4)
			connection->head[connection->have] = bytes[i];
		if (++connection->have == 4)
			memcpy(&connection->need, connection->head, 4);
	}
	if (connection->have >= 4 && connection->have == connection->need) {
		connection->have = connection->need = 0;
		if (write(connection->fd, "200\n", 4) != 4)
			abort();
	}
}

/* Returns false when the client has closed its end. */
static bool on_readable(struct connection *connection)
{
	char buffer[1024];
	ssize_t got;

	for (;;) {
		got = read(connection->fd, buffer, sizeof(buffer));
		if (got == 0)
			return false;
		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		consume(connection, buffer, (size_t)got);
		if (broken)
			return true;
	}
}

static void *run_loop(void *unused)
{
	struct epoll_event events[8];
	int open = CLIENTS, count;

	(void)unused;
	while (open > 0) {
		count = epoll_wait(epoll, events, 8, -1);
		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (!on_readable(connection)) {
				close(connection->fd);
				open--;
			}
		}
	}
	return NULL;
}

static void *post_form(void *data)
{
	static const uint32_t sizes[CLIENTS][4] = {{100, 300, 900, 64}, {500, 700, 3000, 80},
		{40, 1000, 200, 12}};
	int client = (int)(intptr_t)data;
	char form[3000], answer[4];

	memset(form, 'x', sizeof(form));
	for (int i = 0; i < 4; i++) {
		memcpy(form, &sizes[client][i], 4);
		if (write(client_ends[client], form, sizes[client][i]) !=
				(ssize_t)sizes[client][i] ||
			read(client_ends[client], answer, 4) != 4)
			abort();
	}
	close(client_ends[client]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loop, clients[CLIENTS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epoll = epoll_create1(0);
	for (int i = 0; i < CLIENTS; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET,
			.data.ptr = &connections[i]};
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		connections[i].fd = ends[0];
		client_ends[i] = ends[1];
		epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	}
	pthread_create(&loop, NULL, run_loop, NULL);
	pthread_setname_np(loop, "event-loop");
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, post_form, (void *)(intptr_t)i);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(loop, NULL);
	puts("all forms posted");
	return 0;
}
