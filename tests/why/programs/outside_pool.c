/* SPDX-License-Identifier: ISC */
/*
 * A job for the thread pool, which has one thread, never ends. Earlier jobs took 20 ms, and in the
 * twin this one does too.
 */
#include "timetable.h"

static thrum_task work[3];

static void pool(void)
{
	for (unsigned i = 0; i < 3; i++) {
		at(31 + 50 * i);
		thrum_task_switch(work[i]);
		if (i == 2 && broken)
			stay();
		at(51 + 50 * i);
		thrum_task_resolve(work[i]);
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
	}
}

static void story(void)
{
	static const char *labels[] = {"thumbnail a", "thumbnail b", "thumbnail c"};

	start_lane("pool", pool);
	for (unsigned i = 0; i < 3; i++) {
		thrum_task upload;

		at(30 + 50 * i);
		upload = TASK(TASK, "upload");
		thrum_task_should_resolve(upload);
		thrum_task_switch(upload);
		work[i] = TASK(REQUEST, labels[i]);
		thrum_task_wait(upload, work[i]);
		idle_until(52 + 50 * i);
		if (i < 2 || !broken) {
			thrum_task_read(upload, work[i]);
			thrum_task_resolve(upload);
		}
		thrum_task_switch(THRUM_TASK_NONE);
	}
	beat_until(5000);
	if (broken)
		killed();
}
