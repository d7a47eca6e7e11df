/* SPDX-License-Identifier: ISC */
/*
 * steady: records an event a millisecond, as THRUM_TRACE says, until SIGTERM; then ends with status
 * 3. Says "ready" when it began.
 */
#include <signal.h>
#include <stdio.h>
#include <thrum.h>
#include <time.h>

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

int main(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "steady");

	signal(SIGTERM, stop);
	puts("ready");
	fflush(stdout);
	while (!stopped) {
		thrum_task_switch(task);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	thrum_task_resolve(task);
	return 3;
}
