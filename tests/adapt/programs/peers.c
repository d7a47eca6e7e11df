/* SPDX-License-Identifier: ISC */
/*
 * Connections between relatives that don't come to their end. The argument says how; with a second one all is
 * well. Without, they are a group of processes, which is to be killed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 10

static bool is_fine;
static int listener;
static char byte;
static union {
	struct sockaddr any;
	struct sockaddr_in internet;
	struct sockaddr_un local;
} address;
static socklen_t size;

static void open_listener(bool is_local)
{
	size = sizeof address;
	if (is_local)
		address.local.sun_family = AF_UNIX;
	else
		address.internet = (struct sockaddr_in){.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	listener = socket(address.any.sa_family, SOCK_STREAM, 0);
	/* A Unix socket without a name gets one. */
	if (bind(listener, &address.any, is_local ? sizeof(sa_family_t) : size) ||
		listen(listener, 4) || getsockname(listener, &address.any, &size))
		exit(1);
}

static int join(void)
{
	int fd = socket(address.any.sa_family, SOCK_STREAM, 0);

	if (connect(fd, &address.any, size))
		exit(1);
	return fd;
}

static bool get(int fd)
{
	return recv(fd, &byte, 1, 0) == 1;
}

static void put(int fd)
{
	if (send(fd, "x", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
}

static pid_t start_as(const char *name)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

/* Returns true in the child. */
static bool start(const char *name)
{
	return start_as(name) == 0;
}

/* Reads a page to its end. */
static void fetch(void)
{
	int fd = join();

	put(fd);
	while (get(fd))
		continue;
	close(fd);
}

static void start_client(void)
{
	if (start("client")) {
		close(listener);
		for (int i = 0; i < (is_fine ? 20 : 1); i++)
			fetch();
		_exit(0);
	}
}

static void wait_for_all(void)
{
	while (wait(NULL) > 0)
		continue;
}

/* ---- Both read first ---------------------------------------------------------------------------- */

static void greet_first(int fd)
{
	if (!is_fine)
		get(fd);
	put(fd);
	get(fd);
}

static void greet(void)
{
	open_listener(false);
	if (start("primary")) {
		greet_first(accept(listener, NULL, NULL));
		_exit(0);
	}
	if (start("replica")) {
		int fd = join();

		get(fd);
		put(fd);
		_exit(0);
	}
	close(listener);
	wait_for_all();
}

/* ---- An end that is left open ------------------------------------------------------------------- */

static _Noreturn void answer(int fd)
{
	get(fd);
	put(fd);
	put(fd);
	_exit(0);
}

/* The server accepts a connection for its child, and keeps it. */
static void take_client(void)
{
	int fd = accept(listener, NULL, NULL);

	if (start("handler"))
		answer(fd);
	if (is_fine)
		close(fd);
}

static void kept(void)
{
	pid_t server;

	open_listener(false);
	server = start_as("server");
	if (server == 0) {
		signal(SIGCHLD, SIG_IGN);
		for (;;)
			take_client();
	}
	start_client();
	close(listener);
	wait(NULL);
	kill(server, SIGTERM);
	wait(NULL);
}

static _Noreturn void nap(void)
{
	for (int i = 0; i < (is_fine ? ROUNDS : 1000000); i++)
		usleep(100000);
	_exit(0);
}

static void start_watch(int fd)
{
	if (start("watch")) {
		prctl(PR_SET_PDEATHSIG, 0);
		if (is_fine)
			close(fd);
		nap();
	}
}

/* The server's child has its connection, and outlives the server. */
static void left(void)
{
	open_listener(true);
	if (start("server")) {
		int fd = accept(listener, NULL, NULL);

		start_watch(fd);
		answer(fd);
	}
	is_fine ? fetch() : start_client();
	close(listener);
	wait_for_all();
}

/* Nothing is wrong, though the client waits: one that has used the connection may use it again. */
static void used(void)
{
	open_listener(true);
	if (start("server")) {
		int fd = accept(listener, NULL, NULL);

		put(fd);
		if (start("helper"))
			answer(fd);
		nap();
	}
	start_client();
	close(listener);
	wait_for_all();
}

/* The same: the server has read the question, and leaves the answer to its child. */
static void handed(void)
{
	open_listener(true);
	if (start("server")) {
		int fd = accept(listener, NULL, NULL);

		get(fd);
		if (start("worker"))
			nap();
		close(fd);
		wait(NULL);
		_exit(0);
	}
	is_fine ? fetch() : start_client();
	close(listener);
	wait_for_all();
}

/* The same: a child has read the question for the server, which asks another one before it answers. */
static void parsed(void)
{
	open_listener(true);
	if (start("server")) {
		int fd = accept(listener, NULL, NULL), ends[2];

		if (start("parser")) {
			get(fd);
			_exit(0);
		}
		wait(NULL);
		if (pipe(ends))
			_exit(1);
		if (start("helper")) {
			close(fd);
			nap();
		}
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 0)
			put(fd);
		_exit(0);
	}
	is_fine ? fetch() : start_client();
	close(listener);
	wait_for_all();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"greet", greet}, {"kept", kept}, {"left", left}, {"used", used},
		{"handed", handed}, {"parsed", parsed}};
	const char *way = argc > 1 ? argv[1] : "";

	is_fine = argc > 2;
	if (!is_fine)
		setpgid(0, 0);
	else
		alarm(20);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(way, ways[i].name) == 0)
			ways[i].run();
	return 0;
}
