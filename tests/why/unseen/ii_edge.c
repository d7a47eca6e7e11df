/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The server watches the socket edge-triggered, but serve reads only 64 bytes at each event; the
 *     rest of the request stays in the socket without another event, and the client waits for its reply.
 *   culprit: \bserver\b|\bserve\b
 *   victim: client|\bask\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server with an epoll loop in a thread, and its client. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	REQUEST = 200
};

static int ends[2];
static bool broken;

static void *serve(void *data)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	char part[64];
	size_t got = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "server");
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event);
	while (got < REQUEST) {
		ssize_t size;

		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		do {
			size = read(ends[1], part, sizeof(part));
			if (size > 0)
				got += (size_t)size;
		} while (size > 0 && !broken);
	}
	if (write(ends[1], "ok", 2) != 2)
		perror("write");
	close(epoll);
	return NULL;
}

static void ask(void)
{
	char request[REQUEST];
	char reply[2];

	memset(request, 'q', sizeof(request));
	if (write(ends[0], request, sizeof(request)) != REQUEST || read(ends[0], reply, 2) != 2)
		perror("ask");
	else
		puts("answered");
}

int main(int argc, char **argv)
{
	pthread_t server;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	if (pthread_create(&server, NULL, serve, NULL))
		return 1;
	ask();
	pthread_join(server, NULL);
	return 0;
}
