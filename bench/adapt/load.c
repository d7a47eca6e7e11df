/* SPDX-License-Identifier: ISC */
/*
 * load SOCKET REQUEST: asks a server on a Unix socket the same from 16 connections for a second, one
 * request at a time on each, and prints how many answers came. The first answer tells its length.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 16

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (fd < 0 || connect(fd, (void *)&address, sizeof address) < 0)
		fail(path);
	return fd;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct pollfd fds[CONNECTIONS];
	size_t missing[CONNECTIONS];
	char request[256], answer[4096];
	unsigned long answers = 0;

	if (argc != 3)
		return 64;
	size_t size = (size_t)snprintf(request, sizeof request, "%s\r\n", argv[2]);

	for (int i = 0; i < CONNECTIONS; i++)
		fds[i] = (struct pollfd){connect_to(argv[1]), POLLIN, 0};
	if (write(fds[0].fd, request, size) != (ssize_t)size)
		fail("write");
	ssize_t length = read(fds[0].fd, answer, sizeof answer);

	if (length <= 0)
		fail("read");
	for (int i = 0; i < CONNECTIONS; i++) {
		missing[i] = (size_t)length;
		if (write(fds[i].fd, request, size) != (ssize_t)size)
			fail("write");
	}
	for (double end = now() + 1; now() < end;) {
		if (poll(fds, CONNECTIONS, 1000) <= 0)
			fail("poll");
		for (int i = 0; i < CONNECTIONS; i++) {
			if (!fds[i].revents)
				continue;
			ssize_t got = read(fds[i].fd, answer, missing[i]);

			if (got <= 0)
				fail("read");
			missing[i] -= (size_t)got;
			if (missing[i])
				continue;
			answers++;
			missing[i] = (size_t)length;
			if (write(fds[i].fd, request, size) != (ssize_t)size)
				fail("write");
		}
	}
	printf("%lu\n", answers);
	return 0;
}
