/* SPDX-License-Identifier: ISC */
/*
 * senders first: the first that is done with a socket is a send that doesn't wait.
 * senders circle: a process sends all of its lines before it reads an answer, and its child answers each line
 * at once; so both wait for room. Both write through one small function. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define LINE 64
#define LINES 8000

static int there[2], back[2];

static void *answer(void *data)
{
	char byte;

	while (recv(there[1], &byte, 1, 0) == 1 && byte != 'q')
		if (send(there[1], &byte, 1, MSG_DONTWAIT) != 1)
			exit(1);
	return data;
}

static int ask_first(void)
{
	pthread_t thread;
	char byte = 'a';

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, there) != 0 ||
		pthread_create(&thread, NULL, answer, NULL) != 0 ||
		send(there[0], &byte, 1, MSG_DONTWAIT) != 1 || recv(there[0], &byte, 1, 0) != 1)
		return 1;
	puts("answered");
	byte = 'q';
	if (send(there[0], &byte, 1, MSG_DONTWAIT) != 1)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

static void __attribute__((noinline)) put(int fd, const char *line)
{
	for (size_t done = 0; done < LINE;) {
		ssize_t size = write(fd, line + done, LINE - done);

		if (size <= 0)
			exit(1);
		done += (size_t)size;
	}
}

static void __attribute__((noinline)) check_lines(void)
{
	char line[LINE];

	while (read(there[0], line, LINE) == LINE)
		put(back[1], line);
}

static void __attribute__((noinline)) send_lines(void)
{
	char line[LINE] = "line";

	for (int i = 0; i < LINES; i++)
		put(there[1], line);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "first") == 0)
		return ask_first();
	end_after(8);
	if (setpgid(0, 0) != 0 || pipe(there) != 0 || pipe(back) != 0)
		return 1;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		close(back[0]);
		check_lines();
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	send_lines();
	return 0;
}
