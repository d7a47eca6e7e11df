/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: The child process "monitor" was forked while the result pipe was open and keeps its write end. The converter has written all and exited, but collect_output never sees the end of the pipe, and main waits for that thread. (No annotations; three processes.)
 *   culprit: (?i)monitor|write end|writing end|inherit|another process|other process
 *   victim: collect_output
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int result_pipe[2], alive_pipe[2];
static int lines;
static bool broken;

static pid_t start_converter(void)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "converter");
		close(result_pipe[0]);
		for (int i = 0; i < 20; i++) {
			dprintf(result_pipe[1], "page %d converted\n", i);
			usleep(8000);
		}
		_exit(0);
	}
	return child;
}

/* It watches whether the parent lives, and cleans up after it. */
static pid_t start_monitor(void)
{
	pid_t child = fork();

	if (child == 0) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "monitor");
		alarm(5);
		close(alive_pipe[1]);
		if (!broken) {
			close(result_pipe[0]);
			close(result_pipe[1]);
		}
		if (read(alive_pipe[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	return child;
}

static void *collect_output(void *unused)
{
	char text[256];
	ssize_t size;

	while ((size = read(result_pipe[0], text, sizeof text)) > 0)
		for (ssize_t i = 0; i < size; i++)
			lines += text[i] == '\n';
	close(result_pipe[0]);
	return unused;
}

int main(int argc, char **argv)
{
	pid_t converter, monitor;
	pthread_t collector;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (pipe(alive_pipe) || pipe(result_pipe))
		return 1;
	converter = start_converter();
	monitor = start_monitor();
	close(alive_pipe[0]);
	close(result_pipe[1]);
	pthread_create(&collector, NULL, collect_output, NULL);
	waitpid(converter, NULL, 0);
	pthread_join(collector, NULL);
	close(alive_pipe[1]);
	waitpid(monitor, NULL, 0);
	return lines == 20 ? 0 : 1;
}
