/* SPDX-License-Identifier: ISC */
/*
 * A thread waits for a child process and holds a lock meanwhile, which another needs to end that child.
 * In the twin it releases the lock first.
 */
#include "timetable.h"

THRUM_TAG(blocked, NULL, "blocked by the outside", 0);

static thrum_task state;

static void reap(void)
{
	thrum_task child;

	at(5);
	thrum_lock_acquired(state);
	at(6);
	if (!broken)
		thrum_lock_released(state);
	child = TASK(REQUEST, "process 7");
	thrum_task_wait(thrum_task_current(), child);
	thrum_suspend(&blocked);
	stay();
}

static void story(void)
{
	thrum_task stop;

	state = TASK(LOCK, "state");
	start_lane("reaper", reap);
	at(20);
	stop = TASK(TASK, "stop");
	thrum_task_switch(stop);
	if (broken) {
		thrum_task_wait(stop, state);
	} else {
		thrum_lock_acquired(state);
		at(21);
		thrum_lock_released(state);
		thrum_task_resolve(stop);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1500);
	killed();
}
