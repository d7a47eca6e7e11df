/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child "gc" was killed while it had the lock file. Nobody removes that, and commit tries to make it
 *     again and again.
 *   culprit: \bgc\b|start_gc|collect_garbage
 *   victim: \bmain\b|commit|take_lock|\.lock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A version control system: whoever changes the index makes index.lock first. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static void take_lock(void)
{
	int fd;

	while ((fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600)) < 0) {
		if (errno != EEXIST)
			exit(1);
		usleep(5000);
	}
	close(fd);
}

static void collect_garbage(bool broken)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "gc");
	take_lock();
	usleep(2000);
	if (broken)
		raise(SIGKILL);
	unlink(path);
	_exit(0);
}

static void start_gc(bool broken)
{
	pid_t child = fork();

	if (child == 0)
		collect_garbage(broken);
	waitpid(child, NULL, 0);
}

static void commit(int number)
{
	take_lock();
	usleep(1000);
	printf("commit %d\n", number);
	unlink(path);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	snprintf(path, sizeof path, "/tmp/dd-lockfile-%d-index.lock", getpid());
	for (int i = 0; i < 8; i++) {
		if (i == 2 || i == 5)
			start_gc(broken && i == 5);
		commit(i);
	}
	return 0;
}
