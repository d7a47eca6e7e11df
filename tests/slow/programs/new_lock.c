/* SPDX-License-Identifier: ISC */
/* Each order is written to an audit log under a lock, which a flush holds for 100 ms. The twin has no
 * audit log. */
#include "timetable.h"

static void story(void)
{
	thrum_task audit = 0, flush = TASK(TASK, "flush");
	unsigned now = 10;
	char label[16];

	if (broken)
		audit = TASK(LOCK, "audit log");
	for (unsigned i = 0; i < 6; i++) {
		thrum_task order;

		at(now);
		if (broken && i == 2)
			THRUM_RUN (flush)
				thrum_lock_acquired(audit);
		snprintf(label, sizeof(label), "order %u", i);
		order = TASK(TASK, label);
		thrum_task_switch(order);
		at(now += 2);
		if (broken) {
			if (i == 2) {
				thrum_task_wait(order, audit);
				thrum_task_switch(THRUM_TASK_NONE);
				idle_until(now += 100);
				THRUM_RUN (flush)
					thrum_lock_released(audit);
				thrum_task_switch(order);
			}
			thrum_lock_acquired(audit);
			at(now += 1);
			thrum_lock_released(audit);
		}
		thrum_task_resolve(order);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
	thrum_task_resolve(flush);
	at(301);
}
