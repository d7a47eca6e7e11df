/* SPDX-License-Identifier: ISC */
/*
 * One of several processes of which each asks the next over a socket. It knows nothing of thrum.
 *
 *	chain ADDRESS NEXT    serves at ADDRESS, and asks NEXT for each answer
 *	chain ADDRESS end     answers itself
 *	chain ADDRESS stuck   the same, but a thread that has ended holds the lock that it needs
 *	chain ask NEXT        asks three times, and ends
 *
 * An address that begins with / is a Unix socket's, another one a port of 127.0.0.1. Servers end when
 * SIGTERM comes.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *next;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

/* Returns a socket that is bound or connected. */
static int open_socket(const char *address, int (*use)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr_in port = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)atoi(address))};
	bool is_local = *address == '/';
	int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	snprintf(local.sun_path, sizeof local.sun_path, "%s", address);
	if (use(fd, is_local ? (struct sockaddr *)&local : (struct sockaddr *)&port,
		    is_local ? sizeof local : sizeof port) == 0)
		return fd;
	perror(address);
	exit(1);
}

static void forget(void)
{
	if (strcmp(next, "stuck") == 0)
		pthread_mutex_lock(&table); /* and never unlocks it */
}

static void *prepare(void *unused)
{
	forget();
	return unused;
}

static void look_up(char answer[8])
{
	pthread_mutex_lock(&table);
	strcpy(answer, "answer");
	pthread_mutex_unlock(&table);
}

/* A client waits in poll(), a server in recv(). */
static void ask(int fd, bool is_client, char answer[8])
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	int limit = is_client ? -1 : 0;

	memset(answer, 0, 8);
	if (send(fd, "ask", 3, MSG_NOSIGNAL) != 3 || poll(&one, 1, limit) < 0 ||
		recv(fd, answer, 7, 0) <= 0)
		strcpy(answer, "none");
}

static void *serve(void *argument)
{
	int fd = (int)(intptr_t)argument, beyond = -1;
	char asked[8], answer[8] = "";

	if (strcmp(next, "end") != 0 && strcmp(next, "stuck") != 0)
		beyond = open_socket(next, connect);
	while (read(fd, asked, sizeof asked) > 0) {
		if (beyond >= 0)
			ask(beyond, false, answer);
		else
			look_up(answer);
		if (write(fd, answer, strlen(answer)) < 0)
			break;
	}
	close(fd);
	if (beyond >= 0)
		close(beyond);
	return NULL;
}

static void *accept_all(void *argument)
{
	int listener = (int)(intptr_t)argument, fd;
	pthread_t thread;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
		pthread_detach(thread);
	}
	return NULL;
}

static void *ask_thrice(void *argument)
{
	int fd = open_socket(next, connect);
	char answer[8];

	(void)argument;
	for (int i = 0; i < 3; i++) {
		ask(fd, true, answer);
		puts(answer);
	}
	close(fd);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	sigset_t ends;
	int number;

	if (count != 3)
		return 1;
	next = arguments[2];
	if (strcmp(arguments[1], "ask") == 0) {
		pthread_create(&thread, NULL, ask_thrice, NULL);
		pthread_join(thread, NULL);
		return 0;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	pthread_create(&thread, NULL, prepare, NULL);
	pthread_join(thread, NULL);
	int listener = open_socket(arguments[1], bind);

	listen(listener, 8);
	pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener);
	puts("ready");
	fflush(stdout);
	sigwait(&ends, &number);
	return 0;
}
