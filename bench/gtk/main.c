/* SPDX-License-Identifier: ISC */
/* flood FILE RATE: records about so many events a second, as a server with a thousand requests at
 * once might, until it is killed. What measure.py follows. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <time.h>

#define REQUESTS 1000
#define EVENTS 7 /* of a request, with its label's */
#define SLICE_NS 1000000

/* The oldest request is answered, a new one comes. */
static void turn(thrum_task *request, thrum_task server, unsigned number)
{
	if (*request) {
		thrum_task_switch(*request);
		thrum_task_resolve(*request);
		thrum_task_read(server, *request);
	}
	*request = thrum_task_createf(THRUM_KIND_REQUEST, "GET /item/%u", number % 100);
	thrum_task_switch(*request);
	thrum_task_wait(server, *request);
	thrum_task_switch(server);
}

int main(int argc, char **argv)
{
	static thrum_task requests[REQUESTS];
	double rate = argc == 3 ? strtod(argv[2], NULL) : 0;
	struct timespec next;

	if (rate <= 0) {
		fprintf(stderr, "usage: flood FILE EVENTS-A-SECOND\n");
		return 64;
	}
	if (thrum_start(&(struct thrum_config){.file = argv[1], .size = 64 << 20}) < 0)
		return 2;
	thrum_task server = thrum_task_create(THRUM_KIND_TASK, "server");
	double wanted = 0;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned number = 0;;) {
		for (wanted += rate * SLICE_NS / 1e9; wanted > EVENTS; wanted -= EVENTS, number++)
			turn(&requests[number % REQUESTS], server, number);
		next.tv_nsec += SLICE_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
