/* SPDX-License-Identifier: ISC */
/*
 * Workers get jobs by conditions of their own. A dispatcher and a poller give jobs to one of them, which
 * hands some on to the other one. Then nothing comes any more. If the first is no worker but a writer, the
 * other one waits for what it should have written. In the twin both are workers, and have nothing to do.
 */
#include "timetable.h"

static thrum_task workers[2], jobs[2], givers[2];

static thrum_task make_worker(void)
{
	return TASK(TASK, "worker");
}

static void give(thrum_task by, unsigned to, unsigned ms)
{
	at(ms);
	thrum_task_switch(by);
	thrum_task_signal(jobs[to], 1);
	thrum_task_switch(workers[to]);
	thrum_task_read(workers[to], jobs[to]);
}

static void wait_for_job(unsigned of)
{
	thrum_task_switch(workers[of]);
	thrum_task_wait(workers[of], jobs[of]);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	givers[0] = TASK(TASK, "dispatcher");
	givers[1] = TASK(TASK, "poller");
	workers[1] = make_worker();
	workers[0] = broken ? TASK(TASK, "writer") : make_worker();
	for (unsigned i = 0; i < 2; i++) {
		jobs[i] = TASK(CONDITION, i == 0 ? "job 0" : "job 1");
		wait_for_job(i);
	}
	for (unsigned i = 0; i < 12; i++) {
		give(givers[i % 2], 0, 10 * i + 5);
		give(workers[0], 1, 10 * i + 7);
		wait_for_job(1);
		wait_for_job(0);
	}
	beat_until(4000);
	killed();
}
