/* SPDX-License-Identifier: ISC */
/*
 * A program in a guest can't read Xen's time, and dom0 can't read the guest's clock. So dom0 writes a
 * question to xenstore, and this answers at once with CLOCK_MONOTONIC: dom0 knows that the clock was
 * read between question and answer. While nobody asks, a thread sleeps.
 */
#define _GNU_SOURCE
#include "xen/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xenstore.h>

#define QUESTION "data/mprof/clock-question"
#define ANSWER "data/mprof/clock-answer"

static struct xs_handle *store; /* only the thread uses it */

/* Writes the question, a blank, and the time in ns. */
static void answer(void)
{
	unsigned size;
	char text[80], *question = xs_read(store, XBT_NULL, QUESTION, &size);
	struct timespec now;

	if (!question)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof text, "%.40s %lld", question,
		(long long)now.tv_sec * 1000000000 + now.tv_nsec);
	xs_write(store, XBT_NULL, ANSWER, text, (unsigned)strlen(text));
	free(question);
}

static void *answer_all(void *unused)
{
	unsigned count;
	char **event;

	(void)unused;
	while ((event = xs_read_watch(store, &count))) {
		free(event);
		answer();
	}
	return NULL;
}

/* The thread takes none of the program's signals. */
static bool start_thread(void)
{
	pthread_t thread;
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, answer_all, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error == 0 && pthread_detach(thread) == 0;
}

bool thrum__xen_clock_start(void)
{
	static pid_t process; /* that has the thread: a child of fork doesn't */

	if (process == getpid())
		return true;
	store = xs_open(0);
	if (store && xs_watch(store, QUESTION, "") && start_thread()) {
		process = getpid();
		return true;
	}
	if (store)
		xs_close(store);
	return false;
}
