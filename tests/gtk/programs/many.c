/* SPDX-License-Identifier: ISC */
/* many FILE MILLIONS [on]: records so many million events by a clock of its own. With "on" it says
 * so and goes on recording slowly. The first task never resolves, though it should. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <time.h>

#define SHARED 8 /* tasks alive at the same time */
#define EVENTS 4 /* of each task */

static uint64_t now;

static uint64_t read_clock(void *context)
{
	(void)context;
	return now += 1000;
}

static void go_on(void)
{
	puts("recorded");
	fflush(stdout);
	for (;;) {
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		thrum_task_resolve(thrum_task_create(THRUM_KIND_TASK, "one more"));
	}
}

int main(int argc, char **argv)
{
	bool goes_on = argc == 4;
	/* A tick is 16 ns, so that its sixteenths are ns. */
	struct thrum_clock clock = {read_clock, NULL, 62500000};
	unsigned long millions = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct thrum_config config = {.file = argv[1], .size = millions << 25, .clock = &clock};
	thrum_task tasks[SHARED] = {0};

	if (millions == 0 || thrum_start(&config) < 0)
		return 1;
	thrum_task_should_resolve(thrum_task_create(THRUM_KIND_TASK, "answer"));
	for (unsigned long i = 0; i < millions * 1000000 / EVENTS; i++) {
		thrum_task *task = &tasks[i % SHARED];

		if (i >= SHARED)
			thrum_task_resolve(*task);
		*task = thrum_task_create(THRUM_KIND_TASK, "one of many");
		thrum_task_switch(*task);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	if (goes_on)
		go_on();
	thrum_stop();
	return 0;
}
