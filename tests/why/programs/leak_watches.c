/* SPDX-License-Identifier: ISC */
/*
 * A new watch is set for each change, and the old one is forgotten but never ended. The twin ends
 * the old one. All watches wait for the same condition, which is no error.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task changed = TASK(CONDITION, "changed"), editor = TASK(TASK, "editor"), watch = 0;

	for (unsigned i = 0; i < 250; i++) {
		at(5 + 20 * i);
		thrum_task_switch(editor);
		if (watch && !broken)
			thrum_task_cancel(watch);
		watch = TASK_WAITING(WAIT, "watch", changed);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	at(5000);
	killed();
}
