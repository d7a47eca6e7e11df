/* SPDX-License-Identifier: ISC */
/* Starts itself in the given way, and waits for the child, which takes so many ms: fork, vfork or spawn. */
#define _GNU_SOURCE
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	char *arguments[] = {argv[0], argc > 2 ? argv[2] : NULL, NULL};
	int status = 0;
	pid_t child;

	poll(NULL, 0, argc == 2 && atoi(argv[1]) > 1 ? atoi(argv[1]) : 1);
	if (argc < 2 || atoi(argv[1]) > 0)
		return 0;
	if (strcmp(argv[1], "spawn") == 0) {
		if (posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) != 0)
			return 1;
	} else {
		child = strcmp(argv[1], "vfork") == 0 ? vfork() : fork();
		if (child == 0) {
			execv(argv[0], arguments);
			_exit(1);
		}
	}
	waitpid(child, &status, 0);
	return status != 0;
}
