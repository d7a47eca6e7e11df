/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the server's connection "conn 3" is never armed again (EPOLLONESHOT) after a request that comes
 *     in two pieces: on_readable returns early, so the rest of that request and all later ones are not read
 *   culprit: \bconn 3\b
 *   victim: \bGET key\d+ of client 3\b|\bclient 3\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A key-value server on epoll, with its clients at the other ends of socket pairs. The author annotated the
 * clients' requests and the server's connections, and little else. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CLIENTS = 4,
	REQUESTS = 8,
	LINE = 64
};

struct connection {
	int descriptor;
	thrum_task handle;
	char buffer[LINE];
	size_t length;
};

struct client {
	int number, descriptor, answers;
	const struct connection *connection;
};

static bool broken;
static int set;
static struct connection connections[CLIENTS];

static void arm(struct connection *connection, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = connection};

	if (epoll_ctl(set, operation, connection->descriptor, &event))
		abort();
}

static __attribute__((noinline)) void answer(struct connection *connection, const char *line)
{
	char text[LINE];
	int length = snprintf(text, sizeof(text), "value of %s\n", line + 4);

	if (write(connection->descriptor, text, (size_t)length) != length)
		abort();
}

/* Returns whether the connection is still open. */
static __attribute__((noinline)) bool on_readable(struct connection *connection)
{
	ssize_t length;
	char *end;

	length = read(connection->descriptor, connection->buffer + connection->length,
		LINE - 1 - connection->length);
	if (length <= 0) {
		thrum_task_resolve(connection->handle);
		close(connection->descriptor);
		return false;
	}
	connection->length += (size_t)length;
	connection->buffer[connection->length] = 0;
	end = strchr(connection->buffer, '\n');
	if (!end)
		return true; /* wait for the rest of the line */
	*end = 0;
	THRUM_RUN (connection->handle)
		answer(connection, connection->buffer);
	connection->length = 0;
	arm(connection, EPOLL_CTL_MOD);
	return true;
}

static void *serve(void *data)
{
	struct epoll_event events[CLIENTS];
	int open = CLIENTS;

	(void)data;
	thrum_lane_name("server");
	while (open > 0) {
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(set, events, CLIENTS, -1);
		thrum_resume();
		for (int i = 0; i < count; i++)
			if (!on_readable(events[i].data.ptr))
				open--;
	}
	return NULL;
}

/* A slow network brings the line in two pieces. */
static void send_line(const struct client *client, const char *line, bool in_pieces)
{
	size_t length = strlen(line), first = in_pieces ? length / 2 : length;

	if (write(client->descriptor, line, first) != (ssize_t)first)
		abort();
	if (!in_pieces)
		return;
	usleep(200000);
	if (write(client->descriptor, line + first, length - first) != (ssize_t)(length - first))
		abort();
}

static __attribute__((noinline)) void get(struct client *client, int key)
{
	char line[LINE];
	thrum_task request;
	size_t length = 0;

	request = thrum_task_createf(THRUM_KIND_REQUEST, "GET key%d of client %d", key,
		client->number);
	thrum_task_should_resolve(request);
	thrum_task_wait(request, client->connection->handle);
	snprintf(line, sizeof(line), "GET key%d\n", key);
	send_line(client, line, broken && client->number == 3 && key == 5);
	thrum_suspend(THRUM_BLOCKED);
	do {
		if (read(client->descriptor, line + length, 1) != 1)
			abort();
	} while (line[length++] != '\n');
	thrum_resume();
	thrum_task_resolve(request);
	client->answers++;
}

static void *ask(void *data)
{
	struct client *client = data;
	char name[24];

	snprintf(name, sizeof(name), "client %d", client->number);
	thrum_lane_name(name);
	for (int key = 1; key <= REQUESTS; key++) {
		get(client, key);
		usleep(5000);
	}
	close(client->descriptor);
	return NULL;
}

int main(int argc, char **argv)
{
	struct client clients[CLIENTS];
	pthread_t threads[CLIENTS], server;
	int answers = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	set = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		connections[i].descriptor = ends[0];
		connections[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "conn %d", i + 1);
		clients[i] = (struct client){i + 1, ends[1], 0, &connections[i]};
		arm(&connections[i], EPOLL_CTL_ADD);
	}
	if (pthread_create(&server, NULL, serve, NULL))
		return 1;
	for (int i = 0; i < CLIENTS; i++)
		if (pthread_create(&threads[i], NULL, ask, &clients[i]))
			return 1;
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], NULL);
		answers += clients[i].answers;
	}
	pthread_join(server, NULL);
	printf("%d answers\n", answers);
	return answers == CLIENTS * REQUESTS ? 0 : 1;
}
