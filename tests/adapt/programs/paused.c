/* SPDX-License-Identifier: ISC */
/*
 * A program that waits for its child's signal. The argument says how. SIGALRM ends it where it hangs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static volatile sig_atomic_t heard;
static bool is_again;

static void on_signal(int number)
{
	(void)number;
	heard++;
}

static void handle(int number)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(number, &action, NULL);
}

/* Whether the main thread of a process waits. */
static bool is_asleep(pid_t process)
{
	char path[40], state = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
	file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(file);
	}
	return state == 'S';
}

/* Sends a signal after some time, once the parent waits if it is to, and waits for signals itself. */
static void start_child(useconds_t us, bool wants_wait)
{
	pid_t parent = getpid();

	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "helper");
	usleep(us);
	while (wants_wait && !is_asleep(parent))
		usleep(1000);
	kill(parent, SIGUSR1);
	if (is_again) {
		handle(SIGALRM);
		setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 900000}, NULL);
		pause();
		kill(parent, SIGUSR1);
	}
	for (;;)
		pause();
}

/* Returns whether the call and the signals that are held back are as they should be. */
static bool waits_well(void)
{
	sigset_t before, after;
	int result;

	/* The kernel fills in only a part. */
	memset(&before, 0, sizeof before);
	memset(&after, 0, sizeof after);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = 0;
	result = pause();
	if (result != -1 || errno != EINTR)
		return false;
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	return memcmp(&before, &after, sizeof before) == 0;
}

/* The signal comes between the look and the wait. */
static bool lost(void)
{
	start_child(2000, false);
	do {
		while (!heard)
			usleep(1000);
		if (!waits_well())
			return false;
	} while (heard < (is_again ? 2 : 1));
	return true;
}

/* It comes during the wait, and the next wait is for another one. */
static bool idle(void)
{
	start_child(100000, true);
	while (waits_well())
		continue;
	return false;
}

/* It is held back until the wait. */
static bool held(void)
{
	sigset_t mask, before;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, &before);
	start_child(2000, false);
	while (!heard) {
		usleep(100000);
		sigsuspend(&before);
	}
	return true;
}

static void *take_signal(void *result)
{
	sigset_t mask;
	int number;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	*(bool *)result = sigwait(&mask, &number) == 0 && number == SIGUSR1 && heard == 0;
	return NULL;
}

/* A thread waits for the signal. If the main one doesn't hold it back, its handler takes it. */
static bool stolen(bool is_kept)
{
	bool result = false;
	pthread_t other;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	if (is_kept)
		pthread_sigmask(SIG_BLOCK, &mask, NULL);
	pthread_create(&other, NULL, take_signal, &result);
	start_child(200000, true);
	pthread_join(other, NULL);
	return result;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	bool is_well;

	is_again = strcmp(way, "again") == 0;
	end_after(is_again || strcmp(way, "held") == 0 ? 20 : 3);
	handle(SIGUSR1);
	/* Another signal may end the wait, too. */
	if (strcmp(way, "others") == 0)
		handle(SIGTERM);
	if (strcmp(way, "idle") == 0)
		is_well = idle();
	else if (strcmp(way, "held") == 0)
		is_well = held();
	else if (strcmp(way, "stolen") == 0 || strcmp(way, "kept") == 0)
		is_well = stolen(strcmp(way, "kept") == 0);
	else
		is_well = lost();
	puts(is_well ? "done" : "wrong");
	return !is_well;
}
