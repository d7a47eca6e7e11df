/* SPDX-License-Identifier: ISC */
/* Eight updates hold one lock one after the other, each for 20 ms, in the twin for 1 ms. */
#include "timetable.h"

static void story(void)
{
	thrum_task cache = TASK(LOCK, "cache"), update[8];
	unsigned length = broken ? 20 : 1;
	char label[16];

	at(10);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(label, sizeof(label), "update %u", i);
		update[i] = TASK(TASK, label);
		if (i > 0)
			thrum_task_wait(update[i], cache);
	}
	for (unsigned i = 0; i < 8; i++) {
		thrum_task_switch(update[i]);
		thrum_lock_acquired(cache);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(10 + length * (i + 1));
		thrum_task_switch(update[i]);
		thrum_lock_released(cache);
		thrum_task_resolve(update[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
