/* SPDX-License-Identifier: ISC */
/*
 * A program with threads that accept connections. The argument says what goes wrong; with a second one
 * all is well. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_fine;
static int listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct sockaddr_in port = {.sin_family = AF_INET};
static char byte;

static void listen_at(int family, const void *name, socklen_t size, int backlog)
{
	listener = socket(family, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, name, size) != 0 || listen(listener, backlog) != 0)
		exit(1);
}

static int dial(int family, const void *name, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, name, size) != 0)
		exit(1);
	return fd;
}

/* Answers one client after the other, each until it leaves. */
static void *serve(void *unused)
{
	int fd;

	(void)unused;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (read(fd, &byte, 1) > 0)
			if (write(fd, "x", 1) != 1)
				exit(1);
		close(fd);
	}
	return NULL;
}

/* To close a socket doesn't wake the thread that waits to accept from it. */
static void __attribute__((noinline)) stop_listening(void)
{
	if (is_fine)
		shutdown(listener, SHUT_RDWR);
	close(listener);
	listener = -1;
}

static void closed(void)
{
	socklen_t size = sizeof port;
	pthread_t thread;

	port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_at(AF_INET, &port, sizeof port, 4);
	getsockname(listener, (struct sockaddr *)&port, &size);
	pthread_create(&thread, NULL, serve, NULL);
	close(dial(AF_INET, &port, sizeof port));
	usleep(100000);
	stop_listening();
	pthread_join(thread, NULL);
}

/* Says something now and then. */
static void *visit(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++) {
		int fd = dial(AF_UNIX, &address, sizeof address);

		usleep(2000);
		if (write(fd, "x", 1) != 1 || read(fd, &byte, 1) != 1)
			exit(1);
		close(fd);
	}
	return NULL;
}

/* The server waits for a client that says nothing, and doesn't accept others meanwhile. */
static void queued(void)
{
	pthread_t server, visitors[5];
	int silent = -1;

	snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "thrum-accepts-%d", getpid());
	listen_at(AF_UNIX, &address, sizeof address, 1);
	pthread_create(&server, NULL, serve, NULL);
	pthread_setname_np(server, "server");
	visit(NULL);
	if (!is_fine)
		silent = dial(AF_UNIX, &address, sizeof address);
	for (int i = 0; i < 5; i++)
		pthread_create(&visitors[i], NULL, visit, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(visitors[i], NULL);
	close(silent);
}

int main(int argc, char **argv)
{
	is_fine = argc > 2;
	alarm(is_fine ? 20 : 2);
	if (argc > 1 && strcmp(argv[1], "closed") == 0)
		closed();
	else
		queued();
	puts("done");
	return 0;
}
