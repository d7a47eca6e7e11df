/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The supervisor blocks SIGTERM for its signalfd, and run_helper forks without unblocking it; the
 *     helper never gets the SIGTERM that stop_helper sends, and waitpid waits for ever.
 *   culprit: helper|SIGTERM
 *   victim: supervisor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A supervisor starts a helper, waits until it is ready, and stops it when the work is done. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;

/* The helper serves one request, then waits for more until a signal ends it. */
static void helper_main(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "helper");
	if (write(ready, "r", 1) != 1)
		_exit(1);
	close(ready);
	for (;;)
		pause();
}

static pid_t run_helper(const sigset_t *signals)
{
	int ends[2];
	char byte;
	pid_t helper;

	if (pipe(ends))
		return -1;
	helper = fork();
	if (helper == 0) {
		close(ends[0]);
		if (!broken)
			sigprocmask(SIG_UNBLOCK, signals, NULL);
		helper_main(ends[1]);
	}
	close(ends[1]);
	if (helper > 0 && read(ends[0], &byte, 1) != 1)
		fputs("the helper doesn't start\n", stderr);
	close(ends[0]);
	return helper;
}

static void stop_helper(pid_t helper)
{
	int status;

	kill(helper, SIGTERM);
	if (waitpid(helper, &status, 0) == helper && WIFSIGNALED(status))
		printf("the helper ended by signal %d\n", WTERMSIG(status));
}

int main(int argc, char **argv)
{
	sigset_t signals;
	pid_t helper;
	int fd;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	prctl(PR_SET_NAME, "supervisor");
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return 1;
	helper = run_helper(&signals);
	if (helper < 0)
		return 1;
	stop_helper(helper);
	close(fd);
	return 0;
}
