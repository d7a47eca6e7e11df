/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 1000
 *   ask: why
 *   truth: the watcher (a child that runs sleep) is started while the pipe of the lister is open, and inherits its writing end; the lister ends, but read_listing never gets an end of file from that pipe.
 *   culprit: pipe|watcher|\bsleep\b
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static int files;

/* Starts a program in the background that ends with this one. Its output goes to `out`. */
static pid_t spawn(char *const command[], int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	return pid;
}

/* Tells when the folder changes (here: never). */
static pid_t start_watcher(void)
{
	char *command[] = {"sleep", "22", NULL};

	return spawn(command, -1);
}

static pid_t start_lister(int out)
{
	char *command[] = {"sh", "-c", "ls /usr/bin | head -200", NULL};

	return spawn(command, out);
}

static void *read_listing(void *data)
{
	char buffer[512];
	ssize_t n;

	while ((n = read(*(int *)data, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < n; i++)
			files += buffer[i] == '\n';
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reader;
	pid_t lister, watcher;
	int ends[2];

	alarm(20);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	if (pipe2(ends, broken ? 0 : O_CLOEXEC)) {
		perror("pipe");
		return 1;
	}
	pthread_create(&reader, NULL, read_listing, &ends[0]);
	pthread_setname_np(reader, "listing");
	lister = start_lister(ends[1]);
	watcher = start_watcher();
	close(ends[1]);

	waitpid(lister, NULL, 0);
	pthread_join(reader, NULL);
	printf("%d files\n", files);
	kill(watcher, SIGTERM);
	waitpid(watcher, NULL, 0);
	close(ends[0]);
	return 0;
}
