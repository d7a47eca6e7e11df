/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The package tool starts the helper "notifyd" in the background while it holds the lock of its
 *     database. The child has a copy of the descriptor, so the lock stays when the tool closes its own, and
 *     the second transaction waits for it for ever.
 *   culprit: notifyd|start_helper|run_helper
 *   victim: begin|\bmain\b|db\.lock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A package tool: each transaction locks the database by flock. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];
static pid_t helper;

static int begin(void)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || flock(fd, LOCK_EX))
		exit(1);
	return fd;
}

static void start_helper(int lock, bool broken)
{
	helper = fork();
	if (helper)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "notifyd");
	if (!broken)
		close(lock);
	for (;;)
		usleep(100000);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	snprintf(path, sizeof path, "/tmp/dd-flock-%d-db.lock", getpid());
	for (int i = 0; i < 4; i++) {
		int lock = begin();

		if (i == 2)
			start_helper(lock, broken);
		usleep(5000);
		close(lock);
		printf("transaction %d\n", i);
	}
	unlink(path);
	kill(helper, SIGKILL);
	waitpid(helper, NULL, 0);
	return 0;
}
