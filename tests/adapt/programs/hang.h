/* SPDX-License-Identifier: ISC */
/*
 * A program that hangs is ended by SIGALRM when it has been hanging for a second, on a busy machine
 * too. `thrum why` takes a shorter wait for one that would have ended. With PATIENCE in the environment, it
 * lives until the test ends it (patience.h).
 */
#ifndef TESTS_ADAPT_PROGRAMS_HANG_H
#define TESTS_ADAPT_PROGRAMS_HANG_H

#ifndef _GNU_SOURCE
#error "a signal's handler must stay"
#endif
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "patience.h"

static bool (*is_hanging)(void);

/* Whether a thread waits for the mutex, by glibc's value of a lock with waiters. */
static inline bool has_waiter(const pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_ACQUIRE) == 2;
}

/* The letter of the state of a thread, or of the first one of a process: 'S' sleeps, 'Z' has ended. */
static inline char state_of(int tid)
{
	char path[64], stat[256] = "";

	snprintf(path, sizeof path, "/proc/%d/stat", tid);
	int file = open(path, O_RDONLY);
	ssize_t size = read(file, stat, sizeof stat - 1);
	const char *state = size > 0 ? strchr(stat, ')') : NULL;

	close(file);
	return state ? state[2] : '\0';
}

static inline bool is_asleep(int tid)
{
	return state_of(tid) == 'S';
}

static void look(int number)
{
	static int looks;

	if (!is_hanging() || ++looks < 50)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

/* Looks again and again whether the program hangs. The function must be async-signal-safe. */
static inline void end_when(bool (*hangs)(void))
{
	struct itimerval interval = {{0, 20000}, {0, 20000}};
	unsigned seconds = patience(0);

	if (seconds > 0) {
		alarm(seconds);
		return;
	}
	is_hanging = hangs;
	signal(SIGALRM, look);
	setitimer(ITIMER_REAL, &interval, NULL);
}

#endif
