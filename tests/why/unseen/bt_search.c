/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The connections are watched edge-triggered (EPOLLET), but read_queries reads only one block of 512 bytes. The rest of a
 *     bigger batch stays in the socket and brings no new event, so the editor plugin waits for the answers to the rest for ever.
 *   culprit: read_queries|serve_queries|EPOLLET|edge
 *   victim: thread editor
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* A code search daemon: clients send queries of 32 bytes over local sockets, and get 8 bytes for each. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define QUERY 32
#define ANSWER 8

struct connection {
	int fd;
};

static char path[] = "/tmp/codesearchXXXXXX", address_path[64];
static int listener, poller;
static bool until_empty;
static unsigned long answered;

static void answer_query(struct connection *connection, const char *query)
{
	char answer[ANSWER + 1];
	unsigned hash = 7;

	for (int i = 0; i < QUERY; i++)
		hash = hash * 31 + (unsigned char)query[i];
	snprintf(answer, sizeof(answer), "%08x", hash);
	if (write(connection->fd, answer, ANSWER) == ANSWER)
		answered++;
}

static void read_queries(struct connection *connection)
{
	char block[16 * QUERY];
	ssize_t count;

	do {
		count = read(connection->fd, block, sizeof(block));
		if (count == 0) {
			close(connection->fd);
			free(connection);
			return;
		}
		for (ssize_t i = 0; i + QUERY <= count; i += QUERY)
			answer_query(connection, block + i);
	} while (until_empty && count > 0);
}

static void accept_clients(void)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *connection;
		struct epoll_event event = {.events = EPOLLIN | EPOLLET};

		if (fd < 0)
			return;
		connection = malloc(sizeof(*connection));
		connection->fd = fd;
		event.data.ptr = connection;
		epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
	}
}

static void *serve_queries(void *unused)
{
	struct epoll_event events[8];

	(void)unused;
	pthread_setname_np(pthread_self(), "server");
	for (;;) {
		int count = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr)
				read_queries(events[i].data.ptr);
			else
				accept_clients();
		}
	}
	return NULL;
}

static void ask(int fd, int queries)
{
	char batch[64][QUERY], answers[64 * ANSWER];
	size_t got = 0, want = (size_t)queries * ANSWER;

	memset(batch, 0, sizeof(batch));
	for (int i = 0; i < queries; i++)
		snprintf(batch[i], QUERY, "symbol:%d", rand() % 1000);
	if (write(fd, batch, (size_t)queries * QUERY) < 0)
		exit(1);
	while (got < want) {
		ssize_t count = read(fd, answers + got, want - got);

		if (count <= 0)
			exit(1);
		got += (size_t)count;
	}
}

static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, address_path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		exit(1);
	return fd;
}

/* Asks for one symbol each time when a key is pressed, and for all of a file when one is opened. */
static void *editor(void *unused)
{
	int fd = dial();

	(void)unused;
	pthread_setname_np(pthread_self(), "editor");
	for (int key = 1;; key++) {
		ask(fd, key % 20 == 0 ? 40 : 1);
		usleep(25000);
	}
	return NULL;
}

static void *terminal(void *data)
{
	int fd = dial();

	pthread_setname_np(pthread_self(), (const char *)data);
	for (;;) {
		ask(fd, 2);
		usleep(40000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t thread;

	until_empty = argc > 1 && !strcmp(argv[1], "healthy");
	if (!mkdtemp(path))
		return 1;
	snprintf(address_path, sizeof(address_path), "%s/socket", path);
	strcpy(address.sun_path, address_path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8))
		return 1;
	poller = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
	pthread_create(&thread, NULL, serve_queries, NULL);
	pthread_create(&thread, NULL, editor, NULL);
	pthread_create(&thread, NULL, terminal, "terminal 1");
	pthread_create(&thread, NULL, terminal, "terminal 2");
	usleep(1000000);
	unlink(address_path);
	rmdir(path);
	for (;;) {
		usleep(250000);
		printf("answered %lu\n", answered);
		fflush(stdout);
	}
}
