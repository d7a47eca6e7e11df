/* SPDX-License-Identifier: ISC */
/*
 * A task that holds a lock calls a function that takes the same lock, which isn't recursive. The
 * twin releases the lock before.
 */
#include "timetable.h"

static thrum_task cache, lookup;

static void evict(void)
{
	if (broken) {
		thrum_task_wait(lookup, cache);
		return;
	}
	thrum_lock_acquired(cache);
	at(23);
	thrum_lock_released(cache);
}

static void story(void)
{
	cache = TASK(LOCK, "cache lock");
	lookup = TASK(FIBER, "lookup");
	thrum_task_should_resolve(lookup);
	at(20);
	thrum_task_switch(lookup);
	thrum_lock_acquired(cache);
	at(21);
	if (!broken)
		thrum_lock_released(cache);
	at(22);
	evict();
	if (!broken)
		thrum_task_resolve(lookup);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
	if (broken)
		killed();
}
