/* SPDX-License-Identifier: ISC */
/*
 * A program with threads that accept connections. The argument says what goes wrong; with a second one
 * all is well. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang.h"
#include "patience.h"

static bool is_fine;
static int listener;
static atomic_int server_id, left_by; /* the thread of the server, and how many clients left it */
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
	server_id = gettid();
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (read(fd, &byte, 1) > 0)
			if (write(fd, "x", 1) != 1)
				exit(1);
		close(fd);
		left_by++;
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
	do
		usleep(100000);
	while (left_by == 0 || !is_asleep(server_id));
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

static void start_server(int backlog)
{
	pthread_t server;

	snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "thrum-accepts-%d", getpid());
	listen_at(AF_UNIX, &address, sizeof address, backlog);
	pthread_create(&server, NULL, serve, NULL);
	pthread_setname_np(server, "server");
	visit(NULL);
}

/* The server waits for a client that says nothing, and doesn't accept others meanwhile. */
static void queued(void)
{
	pthread_t visitors[5];
	int silent = -1;

	start_server(1);
	if (!is_fine)
		silent = dial(AF_UNIX, &address, sizeof address);
	for (int i = 0; i < 5; i++)
		pthread_create(&visitors[i], NULL, visit, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(visitors[i], NULL);
	close(silent);
}

/* The same for one that has connected, and waits for an answer. */
static void connected(void)
{
	pthread_t visitor;
	int silent;

	start_server(4);
	silent = dial(AF_UNIX, &address, sizeof address);
	pthread_create(&visitor, NULL, visit, NULL);
	if (is_fine) {
		usleep(300000);
		close(silent);
	}
	pthread_join(visitor, NULL);
}

static void *nap(void *unused)
{
	while (!unused)
		usleep(20000);
	return unused;
}

/* Asks the server by its Unix socket, and waits for the answer for as long as it takes, or for `ms`. */
static int ask(const char *path, int ms)
{
	struct timeval limit = {0, ms * 1000};
	int fd;

	strncpy(address.sun_path, path, sizeof address.sun_path - 1);
	fd = dial(AF_UNIX, &address, sizeof address);
	if (ms > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (write(fd, "q", 1) != 1)
		exit(1);
	return read(fd, &byte, 1) == 1 ? 0 : 3;
}

/* A hook of the server asks the server itself, which waits for the hook. All is well if the hook has a time
 * limit; or another thread accepts, too. The hook is this program or, by a shell, another one. */
static void __attribute__((noinline)) run_hook(bool has_shell)
{
	char command[200];
	int status;
	pid_t hook;

	snprintf(command, sizeof command, "/proc/%d/exe ask %s %d; true", (int)getpid(),
		address.sun_path, is_fine ? 700 : 0);
	hook = fork();
	if (hook == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!has_shell)
			_exit(ask(address.sun_path, 0));
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(1);
	}
	waitpid(hook, &status, 0);
}

static void *answer_one(void *unused)
{
	int fd = accept(listener, NULL, NULL);

	/* Only after looks have seen that the hook waits. */
	usleep(300000);
	if (read(fd, &byte, 1) != 1 || write(fd, "x", 1) != 1)
		exit(1);
	close(fd);
	return unused;
}

static void hooks(bool has_shell)
{
	pthread_t napper, other;
	int visitor, served;

	strcpy(address.sun_path, "hooks.socket");
	unlink(address.sun_path);
	listen_at(AF_UNIX, &address, sizeof address, 4);
	pthread_create(&napper, NULL, nap, NULL);
	visitor = dial(AF_UNIX, &address, sizeof address);
	served = accept(listener, NULL, NULL);
	if (is_fine && !has_shell)
		pthread_create(&other, NULL, answer_one, NULL);
	run_hook(has_shell);
	close(visitor);
	close(served);
	unlink(address.sun_path);
}

int main(int argc, char **argv)
{
	/* A shell's child doesn't end with the server. */
	end_after(5);
	if (argc > 3)
		return ask(argv[2], atoi(argv[3]));
	is_fine = argc > 2;
	end_after(is_fine ? 20 : 3);
	if (argc > 1 && strcmp(argv[1], "closed") == 0)
		closed();
	else if (argc > 1 && strcmp(argv[1], "connected") == 0)
		connected();
	else if (argc > 1 && strcmp(argv[1], "hook") == 0)
		hooks(false);
	else if (argc > 1 && strcmp(argv[1], "shell") == 0)
		hooks(true);
	else
		queued();
	puts("done");
	return 0;
}
