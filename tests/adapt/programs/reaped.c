/* SPDX-License-Identifier: ISC */
/*
 * A program that counts signals: those of its children's ends, by a handler, or those that its children send,
 * by sigwait(). The argument says how; with a second one all is well. SIGALRM ends it where it hangs.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define CHILDREN 3

static bool is_fine;
static volatile sig_atomic_t ended;

static void on_child(int number)
{
	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		ended++;
}

static void hold(int number, sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, before);
}

static int take(int signal)
{
	sigset_t set;
	int number = 0;

	sigemptyset(&set);
	sigaddset(&set, signal);
	return sigwait(&set, &number) == 0 ? number : 0;
}

/* Returns true in the child. */
static bool start(void)
{
	if (fork() != 0)
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return true;
}

/* Works until all children have ended, and the handler has run. */
static void work(void)
{
	while (ended < CHILDREN)
		usleep(1000);
}

/* The last child ends between the look at the count and the wait, unless the signal is held back. */
static void reap(void)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	sigset_t before;

	sigaction(SIGCHLD, &action, NULL);
	for (int i = 0; i < CHILDREN; i++)
		if (start()) {
			usleep(i == 0 ? 50000 : 300000);
			_exit(0);
		}
	hold(SIGCHLD, &before);
	while (ended < (is_fine ? CHILDREN : 1))
		sigsuspend(&before);
	if (is_fine)
		return;
	sigprocmask(SIG_SETMASK, &before, NULL);
	work();
	pause();
}

static void report(void)
{
	kill(getppid(), SIGUSR1);
	take(SIGUSR2);
	_exit(0);
}

/* Two reports become one. */
static void merge(void)
{
	pid_t children[CHILDREN];
	sigset_t before, pending;

	hold(SIGUSR2, &before);
	hold(SIGUSR1, &before);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			report();
		}
		if (is_fine)
			take(SIGUSR1);
	}
	if (!is_fine) {
		do {
			usleep(200000);
			sigpending(&pending);
		} while (!sigismember(&pending, SIGUSR1));
		for (int i = 0; i < CHILDREN; i++)
			take(SIGUSR1);
	}
	for (int i = 0; i < CHILDREN; i++)
		kill(children[i], SIGUSR2);
	while (wait(NULL) > 0)
		continue;
}

int main(int argc, char **argv)
{
	is_fine = argc > 2;
	end_after(is_fine ? 20 : 4);
	if (argc > 1 && strcmp(argv[1], "reap") == 0)
		reap();
	else
		merge();
	puts("done");
	return 0;
}
