/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When more than 64 KiB wait to be sent, pause_reading wants to take EPOLLIN off the connection, but sets the
 *     whole mask to EPOLLRDHUP, and so removes the EPOLLOUT that flush_reply had just set. The rest of the reply is
 *     never sent; the client “importer” waits for it in read.
 *   culprit: pause_reading
 *   victim: importer|browser|fetch_table
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server of tables on an epoll loop of its own: a client asks for a number of rows, and may ask again before the end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROW 64
#define HIGH_WATER (64 * 1024)
#define CLIENTS 2

struct connection {
	int fd;
	uint32_t events;
	char *out;
	size_t out_size; /* what was put into it */
	size_t out_sent; /* what of that was sent */
	int paused;
};

struct client {
	int fd;
	const char *name;
	int rows;
	int ok;
};

static int epoll_fd;
static int connections;

static __attribute__((noinline)) void set_interest(struct connection *connection, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = connection};

	if (connection->events == events)
		return;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, connection->fd, &event) < 0)
		perror("epoll_ctl");
	connection->events = events;
}

/* A client that doesn't read its replies gets no more of them. */
static __attribute__((noinline)) void pause_reading(struct connection *connection)
{
	connection->paused = 1;
	set_interest(connection, EPOLLRDHUP);
}

static __attribute__((noinline)) void resume_reading(struct connection *connection)
{
	connection->paused = 0;
	set_interest(connection, connection->events | EPOLLIN);
}

static __attribute__((noinline)) void flush_reply(struct connection *connection)
{
	while (connection->out_sent < connection->out_size) {
		const ssize_t n = send(connection->fd, connection->out + connection->out_sent,
			connection->out_size - connection->out_sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			set_interest(connection, connection->events | EPOLLOUT);
			return;
		}
		if (n < 0)
			break;
		connection->out_sent += (size_t)n;
	}
	connection->out_size = connection->out_sent = 0;
	set_interest(connection, connection->events & ~(uint32_t)EPOLLOUT);
	if (connection->paused)
		resume_reading(connection);
}

static __attribute__((noinline)) void queue_rows(struct connection *connection, int rows)
{
	const size_t size = (size_t)rows * ROW;

	connection->out = realloc(connection->out, connection->out_size + size + ROW);
	if (!connection->out)
		abort();
	memset(connection->out + connection->out_size, '-', size);
	for (int i = 0; i < rows; i++)
		connection->out[connection->out_size + (size_t)i * ROW + ROW - 1] = '\n';
	connection->out_size += size;
	memcpy(connection->out + connection->out_size, "end\n", 4);
	connection->out_size += 4;
}

static __attribute__((noinline)) void close_connection(struct connection *connection)
{
	close(connection->fd);
	free(connection->out);
	free(connection);
	connections--;
}

static __attribute__((noinline)) int handle_query(struct connection *connection)
{
	char query[128];
	const ssize_t n = recv(connection->fd, query, sizeof query - 1, 0);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return -1;
	query[n] = '\0';
	queue_rows(connection, atoi(query + strlen("rows ")));
	flush_reply(connection);
	if (connection->out_size - connection->out_sent > HIGH_WATER)
		pause_reading(connection);
	return 0;
}

static __attribute__((noinline)) void run_loop(void)
{
	struct epoll_event events[8];

	while (connections) {
		const int n = epoll_wait(epoll_fd, events, 8, -1);

		for (int i = 0; i < n; i++) {
			struct connection *connection = events[i].data.ptr;

			if (events[i].events & EPOLLOUT)
				flush_reply(connection);
			if (events[i].events & (EPOLLHUP | EPOLLERR) ||
				(events[i].events & EPOLLIN && handle_query(connection) < 0))
				close_connection(connection);
		}
	}
}

static void *fetch_table(void *argument)
{
	struct client *client = argument;
	size_t got = 0;
	const size_t wanted = (size_t)client->rows * ROW + 4;
	char buffer[8192];
	ssize_t n;

	pthread_setname_np(pthread_self(), client->name);
	dprintf(client->fd, "rows %d\n", client->rows);
	usleep(250 * 1000); /* makes a table for them */
	while (got < wanted && (n = read(client->fd, buffer, sizeof buffer)) > 0)
		got += (size_t)n;
	client->ok = got == wanted;
	close(client->fd);
	return NULL;
}

static __attribute__((noinline)) int add_connection(void)
{
	struct connection *connection = calloc(1, sizeof *connection);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
	int fds[2];

	if (!connection || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	connection->fd = fds[0];
	connection->events = event.events;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[0], &event) < 0)
		return -1;
	connections++;
	return fds[1];
}

int main(int argc, char **argv)
{
	struct client clients[CLIENTS] = {{.name = "browser", .rows = 20},
		{.name = "importer", .rows = 300}};
	pthread_t threads[CLIENTS];
	int bad = 0;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "broken"))
		clients[1].rows = 20000;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i].fd = add_connection();
		if (clients[i].fd < 0 ||
			pthread_create(&threads[i], NULL, fetch_table, &clients[i]))
			return 1;
	}
	run_loop();
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], NULL);
		bad += !clients[i].ok;
	}
	close(epoll_fd);
	printf("%d tables missing\n", bad);
	return bad ? 1 : 0;
}
