/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: After pause_reading, on_writable sends all at once and never resumes reading.
 *   culprit: pause_reading|on_writable
 *   victim: fetch_archive|billing
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A gateway for meters: clients ask for readings of a day, one line a request, and may ask ahead. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CLIENTS = 4,
	REPLY = 4096,
	ROOM = 128 * 1024,
	HIGH = 96 * 1024,
	LOW = 32 * 1024,
	ARCHIVE_DAYS = 120
};

enum state {
	IDLE,
	FLUSHING,
	CLOSED
};

struct connection {
	int fd;
	struct epoll_event watch;
	enum state state;
	bool paused;
	char in[512];
	size_t in_used;
	char out[ROOM];
	size_t out_used;
};

static struct connection connections[CLIENTS];
static int client_ends[CLIENTS], poller, open_connections = CLIENTS;
static bool resumes_first;

static void pause_reading(struct connection *connection)
{
	connection->paused = true;
	connection->state = FLUSHING;
	connection->watch.events = EPOLLOUT;
	epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &connection->watch);
}

static void answer(struct connection *connection, int day)
{
	memset(connection->out + connection->out_used, '0' + day % 10, REPLY);
	connection->out_used += REPLY;
}

/* Answers the requests that have come, until so much is to be sent that the client should read first. */
static void answer_requests(struct connection *connection)
{
	char *line = connection->in, *stop = line + connection->in_used, *end;

	while (!connection->paused && (end = memchr(line, '\n', stop - line))) {
		answer(connection, atoi(line));
		line = end + 1;
		if (connection->out_used >= HIGH)
			pause_reading(connection);
	}
	connection->in_used -= line - connection->in;
	memmove(connection->in, line, connection->in_used);
	if (connection->state == IDLE && connection->out_used) {
		connection->state = FLUSHING;
		connection->watch.events = EPOLLIN | EPOLLOUT;
		epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &connection->watch);
	}
}

static void on_readable(struct connection *connection)
{
	size_t room = sizeof connection->in - connection->in_used;
	ssize_t got = recv(connection->fd, connection->in + connection->in_used, room, 0);

	if (got <= 0) {
		close(connection->fd);
		connection->state = CLOSED;
		open_connections--;
		return;
	}
	connection->in_used += got;
	answer_requests(connection);
}

static void on_writable(struct connection *connection)
{
	ssize_t sent = send(connection->fd, connection->out, connection->out_used, MSG_DONTWAIT);

	if (sent > 0)
		memmove(connection->out, connection->out + sent, connection->out_used -= sent);
	if (connection->out_used == 0) {
		connection->state = IDLE;
		if (resumes_first)
			connection->paused = false;
		connection->watch.events = connection->paused ? 0 : EPOLLIN;
		epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &connection->watch);
		answer_requests(connection);
	} else if (connection->paused && connection->out_used < LOW) {
		connection->paused = false;
		connection->watch.events = EPOLLIN | EPOLLOUT;
		epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &connection->watch);
	}
}

static void *run_gateway(void *data)
{
	struct epoll_event events[CLIENTS];

	(void)data;
	while (open_connections > 0) {
		int count = epoll_wait(poller, events, CLIENTS, -1);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (events[i].events & EPOLLOUT)
				on_writable(connection);
			else if (events[i].events)
				on_readable(connection);
		}
	}
	return NULL;
}

static void read_reply(int fd)
{
	char reply[REPLY];

	for (size_t used = 0; used < sizeof reply;) {
		ssize_t got = recv(fd, reply + used, sizeof reply - used, 0);

		used += got > 0 ? got : REPLY;
	}
}

/* The display in the hall asks for one day after the other. */
static void *show_days(void *data)
{
	int fd = *(int *)data;

	for (int day = 0; day < 80; day++) {
		dprintf(fd, "%d\n", day);
		read_reply(fd);
		usleep(1200);
	}
	close(fd);
	return NULL;
}

/* The yearly bill needs many days, and asks for all of them at once. */
static void *fetch_archive(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "billing");
	usleep(30000);
	for (int day = 0; day < ARCHIVE_DAYS; day++)
		dprintf(fd, "%d\n", day);
	for (int day = 0; day < ARCHIVE_DAYS; day++)
		read_reply(fd);
	close(fd);
	printf("billing: %d days\n", ARCHIVE_DAYS);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t gateway, clients[CLIENTS];

	resumes_first = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	poller = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		client_ends[i] = ends[1];
		connections[i].fd = ends[0];
		connections[i].watch = (struct epoll_event){.events = EPOLLIN,
			.data.ptr = &connections[i]};
		epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &connections[i].watch);
	}
	pthread_create(&gateway, NULL, run_gateway, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, i == 2 ? fetch_archive : show_days,
			&client_ends[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(gateway, NULL);
	return 0;
}
