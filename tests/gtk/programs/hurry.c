/* SPDX-License-Identifier: ISC */
/*
 * hurry FILE: records two events every 20 ms until it is killed. By the recording's clock 20 ms are
 * a second.
 */
#include <stdio.h>
#include <thrum.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

static uint64_t now;

static uint64_t read_clock(void *context)
{
	(void)context;
	return now;
}

int main(int argc, char **argv)
{
	/* A tick is 16 ns, so that its sixteenths are ns. */
	struct thrum_clock clock = {read_clock, NULL, 62500000};
	struct thrum_config config = {.file = argv[1], .size = 4 << 20, .clock = &clock};

	if (argc < 2 || thrum_start(&config) < 0)
		return 1;
	for (;;) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "second");

		thrum_task_switch(task);
		now += SECOND;
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_task_resolve(task);
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}
