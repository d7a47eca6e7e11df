/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The main thread looks at the flag "reloaded", and then calls pause(). The signal comes between the
 *     two, so nothing wakes the pause any more (the healthy one blocks the signal and uses sigsuspend).
 *   culprit: wait_for_reload|pause|on_reload|SIGUSR1|signal 10
 *   victim: \bmain\b|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A daemon that waits for its child to say by a signal that it is ready. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t reloaded;
static bool broken;

static void on_reload(int number)
{
	reloaded = number;
}

static void log_state(void)
{
	printf("waiting for the child\n");
	usleep(4000);
}

static void wait_for_reload(void)
{
	sigset_t mask, old;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	if (!broken)
		sigprocmask(SIG_BLOCK, &mask, &old);
	while (!reloaded) {
		log_state();
		if (broken)
			pause();
		else
			sigsuspend(&old);
	}
	if (!broken)
		sigprocmask(SIG_SETMASK, &old, NULL);
	reloaded = 0;
}

static void run_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "ready-child");
	usleep(2000);
	kill(getppid(), SIGUSR1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_reload};
	pid_t child;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sigaction(SIGUSR1, &action, NULL);
	child = fork();
	if (child == 0)
		run_child();
	wait_for_reload();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	puts("ready");
	return 0;
}
