/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_git waits in waitpid for the child git-log before anyone reads the pipe; the child blocks in write on the full pipe.
 *   culprit: git-log|run_git|waitpid
 *   victim: indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about a tool that runs git: it waited for git's end before it read git's output; with a long log
 * git blocks on the full pipe and never ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned commits, bytes;

/* Prints a log of some commits. */
static void git_log(int out, int count)
{
	char line[80];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "git-log");
	memset(line, 'c', sizeof line);
	line[sizeof line - 1] = '\n';
	for (int i = 0; i < count; i++)
		if (write(out, line, sizeof line) < 0)
			_exit(1);
	_exit(0);
}

static void read_all(int fd)
{
	char text[4096];
	ssize_t size;

	while ((size = read(fd, text, sizeof text)) > 0)
		bytes += (unsigned)size;
}

static void run_git(int count)
{
	int out[2], status;
	pid_t child;

	if (pipe(out))
		return;
	child = fork();
	if (!child)
		git_log(out[1], count);
	close(out[1]);
	if (!broken)
		read_all(out[0]);
	waitpid(child, &status, 0);
	if (broken)
		read_all(out[0]);
	close(out[0]);
	commits += (unsigned)count;
}

/* Waits for the results of the analysis. */
static void *indexer(void *ready)
{
	char byte;

	pthread_setname_np(pthread_self(), "indexer");
	if (read(*(int *)ready, &byte, 1) == 1) {
		pthread_mutex_lock(&results_lock);
		printf("%u commits, %u bytes\n", commits, bytes);
		pthread_mutex_unlock(&results_lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const int repositories[] = {10, 200, 40, 5000, 100};
	pthread_t thread;
	int ready[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(ready))
		return 1;
	pthread_create(&thread, NULL, indexer, &ready[0]);
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++)
		run_git(repositories[i]);
	if (write(ready[1], "r", 1) != 1)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
