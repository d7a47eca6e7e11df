/* SPDX-License-Identifier: ISC */
/*
 * A thread waits for a condition of the monotonic clock, but for a moment only, and takes that from
 * the other clock: so its wait never ends, nor does main's for the thread. SIGALRM ends the program.
 * With the argument "right" it asks the right clock, with "known" it names the clock, and with "long"
 * it means to wait for a hundred years, until it is woken. With "again" it is woken some times before.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

#define CENTURY 3155760000
#define TIMES 5

static const char *chosen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_woken;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static void *wait_a_moment(void *unused)
{
	struct timespec until;

	clock_gettime(is("right") || is("long") ? CLOCK_MONOTONIC : CLOCK_REALTIME, &until);
	until.tv_sec += is("long") ? CENTURY : 1;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < (is("again") ? TIMES + 1 : 1); i++)
		if (is("known"))
			pthread_cond_clockwait(&is_woken, &mutex, CLOCK_REALTIME, &until);
		else
			pthread_cond_timedwait(&is_woken, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_condattr_t attributes;
	pthread_t thread;

	chosen = argc > 1 ? argv[1] : "";
	end_after(is("") || is("again") ? 2 : 20);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&is_woken, &attributes);
	pthread_create(&thread, NULL, wait_a_moment, NULL);
	usleep(300000);
	for (int i = 0; i < TIMES && is("again"); i++) {
		pthread_cond_signal(&is_woken);
		usleep(100000);
	}
	if (is("long"))
		pthread_cond_signal(&is_woken);
	pthread_join(thread, NULL);
	return 0;
}
