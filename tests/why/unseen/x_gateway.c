/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 850
 *   ask: why
 *   truth: gateway_loop watches each connection with EPOLLONESHOT. When one request came in two parts, on_request returned early and did not arm the connection again, so the rest is never read and that client_session waits for its answer for ever. (No annotations.)
 *   culprit: (?i)gateway_loop|on_request|one-?shot
 *   victim: client_session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CLIENTS = 3,
	REQUESTS = 8
};

struct connection {
	int descriptor, size;
	char line[64];
};

static struct connection connections[CLIENTS];
static int client_ends[CLIENTS];
static bool broken;

static void arm(int epoll, struct connection *connection, int how)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = connection};

	epoll_ctl(epoll, how, connection->descriptor, &event);
}

/* Returns false at the end of the connection. */
static bool on_request(int epoll, struct connection *connection)
{
	char *rest = connection->line + connection->size;
	ssize_t size = read(connection->descriptor, rest,
		sizeof connection->line - connection->size);

	if (size <= 0)
		return false;
	connection->size += size;
	if (connection->line[connection->size - 1] != '\n') {
		if (!broken)
			arm(epoll, connection, EPOLL_CTL_MOD);
		return true;
	}
	connection->size = 0;
	if (write(connection->descriptor, "200\n", 4) != 4)
		return false;
	arm(epoll, connection, EPOLL_CTL_MOD);
	return true;
}

static void *gateway_loop(void *unused)
{
	int epoll = epoll_create1(0), open = CLIENTS;

	for (int i = 0; i < CLIENTS; i++)
		arm(epoll, &connections[i], EPOLL_CTL_ADD);
	while (open > 0) {
		struct epoll_event events[4];
		int count = epoll_wait(epoll, events, 4, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (!on_request(epoll, connection)) {
				epoll_ctl(epoll, EPOLL_CTL_DEL, connection->descriptor, NULL);
				close(connection->descriptor);
				open--;
			}
		}
	}
	close(epoll);
	return unused;
}

static void *client_session(void *data)
{
	int number = *(int *)data, descriptor = client_ends[number];
	char answer[16];

	for (int i = 0; i < REQUESTS; i++) {
		usleep(12000 + number * 2000);
		if (number == 1 && i == 5) {
			/* A long request, which comes in two segments. */
			if (write(descriptor, "PUT /blob ", 10) != 10)
				break;
			usleep(60000);
			if (write(descriptor, "0123456789\n", 11) != 11)
				break;
		} else if (write(descriptor, "GET /\n", 6) != 6)
			break;
		if (read(descriptor, answer, sizeof answer) <= 0)
			break;
	}
	close(descriptor);
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[CLIENTS] = {0, 1, 2};
	pthread_t gateway, clients[CLIENTS];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		connections[i].descriptor = ends[0];
		client_ends[i] = ends[1];
	}
	pthread_create(&gateway, NULL, gateway_loop, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, client_session, &numbers[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(gateway, NULL);
	return 0;
}
