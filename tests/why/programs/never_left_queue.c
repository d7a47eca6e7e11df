/* SPDX-License-Identifier: ISC */
/*
 * A scan ends when all files are counted. The worker for archives meets a broken one and ends, and an
 * archive that comes later stays in the queue. In the twin the worker counts the broken one and goes on.
 */
#include "timetable.h"

#define ARCHIVES 4
#define ODD 2

static void story(void)
{
	thrum_task scan = TASK(TASK, "scan"), walker = TASK(FIBER, "walker"),
		   worker = TASK(FIBER, "archive worker"),
		   queued = TASK(CONDITION, "archive queued"),
		   counted = TASK(CONDITION, "all counted");

	thrum_task_should_resolve(scan);
	at(2);
	thrum_task_wait(worker, queued);
	thrum_task_wait(scan, counted);
	for (unsigned i = 0; i < ARCHIVES; i++) {
		bool is_gone = broken && i > ODD;

		at(20 * i + 5);
		thrum_task_switch(walker);
		thrum_task_signal(queued, !is_gone);
		thrum_task_switch(THRUM_TASK_NONE);
		if (is_gone)
			continue;
		at(20 * i + 6);
		thrum_task_switch(worker);
		thrum_task_read(worker, queued);
		at(20 * i + 15);
		if (broken && i == ODD)
			thrum_task_resolve(worker);
		else
			thrum_task_wait(worker, queued);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	thrum_task_resolve(walker);
	if (!broken) {
		thrum_task_switch(worker);
		thrum_task_signal(counted, 1);
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_task_read(scan, counted);
		thrum_task_resolve(scan);
	}
	beat_until(2000);
	if (broken)
		killed();
}
