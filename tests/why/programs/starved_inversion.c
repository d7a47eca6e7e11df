/* SPDX-License-Identifier: ISC */
/*
 * A scheduler that prefers urgent fibers. A log writer has a lock and is ready, but two encoders,
 * which are more urgent, take turns for ever; so the alarm, the most urgent of all, never gets the
 * lock. In the twin the log writer runs until it has released the lock.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task writer = TASK(FIBER, "log writer"), alarm_task = TASK(FIBER, "alarm");
	thrum_task encoder = TASK(FIBER, "encoder"), lock = TASK(LOCK, "log");

	thrum_task_should_resolve(alarm_task);
	at(1);
	thrum_task_switch(writer);
	thrum_lock_acquired(lock);
	at(2);
	thrum_task_switch(alarm_task);
	thrum_task_wait(alarm_task, lock);
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_task_ready(writer);
	thrum_task_ready(encoder);
	if (!broken) {
		thrum_task_switch(writer);
		at(4);
		thrum_lock_released(lock);
		thrum_task_switch(alarm_task);
		thrum_lock_acquired(lock);
		thrum_lock_released(lock);
		thrum_task_resolve(alarm_task);
		thrum_task_resolve(writer);
	}
	for (unsigned ms = 10; ms <= 2000; ms += 5) {
		thrum_task_switch(encoder);
		at(ms);
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_task_ready(encoder);
	}
	killed();
}
