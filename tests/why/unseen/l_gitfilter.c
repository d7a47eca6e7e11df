/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child fsmonitor was forked while the pipes of the filter were open and holds their write ends, so neither the filter nor main ever reads the end of its input.
 *   culprit: fsmonitor
 *   victim: main|l_gitfilter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about git: the parent reads the answer of a filter until its end and hangs, because a second child
 * that was started in between has inherited the pipes of the first.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static int to_filter[2], from_filter[2];

/* Starts a child that dies with its parent. */
static pid_t start(const char *name)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

/* Copies its input to its output in capitals. */
static void run_filter(void)
{
	char text[256];
	ssize_t size;

	close(to_filter[1]);
	close(from_filter[0]);
	while ((size = read(to_filter[0], text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < size; i++)
			if (text[i] >= 'a' && text[i] <= 'z')
				text[i] -= 32;
		if (write(from_filter[1], text, (size_t)size) < 0)
			break;
	}
	_exit(0);
}

/* Watches the work tree, until the parent ends it. */
static void run_fsmonitor(void)
{
	if (!broken) {
		close(to_filter[0]);
		close(to_filter[1]);
		close(from_filter[0]);
		close(from_filter[1]);
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pid_t filter, fsmonitor;
	char text[256];
	size_t total = 0;
	ssize_t size;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(to_filter) || pipe(from_filter))
		return 1;
	filter = start("filter");
	if (!filter)
		run_filter();
	close(to_filter[0]);
	close(from_filter[1]);
	fsmonitor = start("fsmonitor");
	if (!fsmonitor)
		run_fsmonitor();

	for (int i = 0; i < 20; i++)
		if (write(to_filter[1], "a line of text\n", 15) != 15)
			return 1;
	close(to_filter[1]);
	while ((size = read(from_filter[0], text, sizeof text)) > 0)
		total += (size_t)size;
	waitpid(filter, NULL, 0);
	printf("%zu bytes filtered\n", total);
	kill(fsmonitor, SIGKILL);
	waitpid(fsmonitor, NULL, 0);
	return 0;
}
