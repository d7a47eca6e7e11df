/* SPDX-License-Identifier: ISC */
/* Timers of an own loop. With the bug, one of them is set in the wrong unit. */
#include "annotate.h"

#include <time.h>

struct timer {
	int64_t due; /* ns, on CLOCK_MONOTONIC */
	thrum_task task;
};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void timer_start(struct timer *timer, const char *name, int64_t ns)
{
	timer->due = now() + ns;
	timer->task = thrum_task_create(THRUM_KIND_TIMER, name);
	thrum_task_due(timer->task, ns);
}

static void timer_wait(struct timer *timer)
{
	int64_t left = timer->due - now();
	struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (left > 0)
		nanosleep(&time, NULL);
	thrum_resume();
	THRUM_RUN (timer->task)
		thrum_task_resolve(timer->task);
}

/* The fifth retry waits for 50 s instead of 50 ms. */
int main(int argc, char **argv)
{
	thrum_task job;
	struct timer timer;

	begin(argc);
	job = thrum_task_create(THRUM_KIND_TASK, "upload");
	thrum_task_should_resolve(job);
	for (int i = 1; i <= 5; i++) {
		timer_start(&timer, "retry", INT64_C(10000000) * i * (broken && i == 5 ? 1000 : 1));
		thrum_task_wait(job, timer.task);
		timer_wait(&timer);
		thrum_task_read(job, timer.task);
	}
	thrum_task_resolve(job);
	return 0;
}
