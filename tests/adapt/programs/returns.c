/* SPDX-License-Identifier: ISC */
/*
 * Calls that return where poll() would wait, as the argument says: of no bytes, with a time limit, for a
 * child that stops, for one that is traced, to a socket that has room, and with a handler that ends calls.
 * SIGALRM ends it if one doesn't. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_and_write_nothing(void)
{
	char byte, text[] = "a line\n", *line = NULL;
	size_t room = 0;
	int ends[2];
	FILE *file;

	if (pipe(ends) != 0)
		return;
	printf("read %zd\n", read(ends[0], &byte, 0));
	printf("write %zd\n", write(ends[1], &byte, 0));
	printf("wrong end %zd\n", read(ends[1], &byte, 1));
	file = fmemopen(text, strlen(text), "r");
	errno = 0;
	while (file && getline(&line, &room, file) > 0)
		continue;
	printf("end of a text %d\n", errno);
}

static void receive_for_a_time(void)
{
	const struct timeval limit = {0, 200000};
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
		setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
		return;
	printf("receive %zd", read(ends[0], &byte, 1));
	printf(" %s\n", strerror(errno));
}

/* Sends until poll() finds no room: there is some for a byte. */
static void send_to_a_full_socket(void)
{
	static char block[4096];
	int ends[2];
	struct pollfd one;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return;
	one = (struct pollfd){ends[1], POLLOUT, 0};
	while (poll(&one, 1, 0) == 1)
		if (write(ends[1], block, sizeof block) != sizeof block)
			return;
	printf("send %zd\n", write(ends[1], block, 1));
}

/* A child that stops, and ends when it goes on. */
static pid_t start(bool is_traced)
{
	pid_t child = fork();

	if (child == 0) {
		if (is_traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(5);
		usleep(200000);
		raise(SIGSTOP);
		_exit(3);
	}
	return child;
}

static void wait_for(pid_t child, int options)
{
	int status = 0;

	if (waitpid(child, &status, options) == child)
		printf("%s %d\n", WIFSTOPPED(status) ? "stopped" : "ended",
			WIFSTOPPED(status) ? WSTOPSIG(status) : WEXITSTATUS(status));
}

/* Threads are recorded: from then on, so are the calls. */
static void *end_at_once(void *data)
{
	return data;
}

static void handle(int number)
{
	(void)number;
}

static void tell(const char *call, ssize_t result)
{
	printf("%s %zd, %s\n", call, result, strerror(errno));
}

/* A child that has the pipes, too, sends signals until it is killed. */
static void be_interrupted(void)
{
	const struct sigaction ending = {.sa_handler = handle};
	static char block[200000];
	int ends[2], full[2];
	pid_t child;

	if (pipe(ends) != 0 || pipe(full) != 0 || sigaction(SIGUSR1, &ending, NULL) != 0)
		return;
	child = fork();
	while (child == 0) {
		kill(getppid(), SIGUSR1);
		usleep(80000);
	}
	for (int i = 0; i < 3; i++)
		tell("read", read(ends[0], block, 1));
	printf("write %zd\n", write(full[1], block, sizeof block));
	tell("write", write(full[1], block, 1));
	tell("write", write(full[1], block, sizeof block));
	kill(child, SIGKILL);
	wait_for(child, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;
	pid_t child;

	alarm(20);
	if (pthread_create(&thread, NULL, end_at_once, NULL) != 0 ||
		pthread_join(thread, NULL) != 0)
		return 1;
	if (strcmp(what, "nothing") == 0) {
		read_and_write_nothing();
	} else if (strcmp(what, "limit") == 0) {
		receive_for_a_time();
	} else if (strcmp(what, "room") == 0) {
		send_to_a_full_socket();
	} else if (strcmp(what, "handled") == 0) {
		be_interrupted();
	} else if (strcmp(what, "stopped") == 0) {
		child = start(false);
		wait_for(child, WUNTRACED);
		kill(child, SIGCONT);
		wait_for(child, 0);
	} else if (strcmp(what, "traced") == 0) {
		child = start(true);
		wait_for(child, 0);
		ptrace(PTRACE_CONT, child, NULL, NULL);
		wait_for(child, 0);
	}
	return 0;
}
