/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child "indexer" was forked while the pipe to "sorter" was open for writing, and never closes its
 *     copy. So sorter never sees the end of its input, and the parent waits for sorter.
 *   culprit: indexer|start_indexer
 *   victim: sorter|finish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A mail indexer with two helper processes and a thread that shows progress. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_sorter[2], to_indexer[2];
static pid_t sorter, indexer;
static atomic_int mails;

static void serve(const char *name, int in)
{
	char mail[64];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	while ((n = read(in, mail, sizeof mail)) > 0)
		usleep(300);
	_exit(0);
}

static void start_sorter(void)
{
	if (pipe(to_sorter))
		exit(1);
	sorter = fork();
	if (sorter == 0) {
		close(to_sorter[1]);
		serve("sorter", to_sorter[0]);
	}
	close(to_sorter[0]);
}

static void start_indexer(bool broken)
{
	if (pipe(to_indexer))
		exit(1);
	indexer = fork();
	if (indexer == 0) {
		if (!broken)
			close(to_sorter[1]);
		close(to_indexer[1]);
		serve("indexer", to_indexer[0]);
	}
	close(to_indexer[0]);
}

static void finish(int pipe, pid_t child)
{
	close(pipe);
	waitpid(child, NULL, 0);
}

static void *progress(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "progress");
	while (mails < 40) {
		usleep(10000);
		printf("%d mails\n", (int)mails);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t thread;

	start_sorter();
	start_indexer(broken);
	pthread_create(&thread, NULL, progress, NULL);
	for (; mails < 40; mails++) {
		char mail[64] = "From: a";

		if (write(to_sorter[1], mail, sizeof mail) < 0 ||
			write(to_indexer[1], mail, sizeof mail) < 0)
			return 1;
		usleep(1000);
	}
	pthread_join(thread, NULL);
	finish(to_sorter[1], sorter);
	finish(to_indexer[1], indexer);
	return 0;
}
