/* SPDX-License-Identifier: ISC */
/* program SECONDS EVENTS: a program of a simulated machine, which records so many events a second. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <thrum.h>

#define STEPS 20   /* a second */
#define REQUEST 10 /* events of a request */

/* A request that does something twice. */
static void serve(unsigned long number)
{
	thrum_task before = thrum_task_current();
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "GET /%lu", number);

	thrum_task_switch(request);
	for (int i = 0; i < 2; i++) {
		thrum_task query = thrum_task_create_waiting(THRUM_KIND_TASK, "query", request);

		thrum_task_resolve(query);
		thrum_task_read(request, query);
	}
	thrum_task_resolve(request);
	thrum_task_switch(before);
}

int main(int argc, char **argv)
{
	unsigned long seconds = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long requests = argc == 3 ? strtoul(argv[2], NULL, 10) / REQUEST / STEPS : 0;
	struct timespec next;

	if (seconds == 0 || requests == 0 || thrum_start(NULL) != 0) {
		fprintf(stderr, "program SECONDS EVENTS, with THRUM_TRACE\n");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned long step = 0; step < seconds * STEPS; step++) {
		for (unsigned long i = 0; i < requests; i++)
			serve(step * requests + i);
		next.tv_nsec += 1000000000 / STEPS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0;
}
