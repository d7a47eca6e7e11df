/* SPDX-License-Identifier: ISC */
/*
 * Saving a draft fails, and nobody reads the failure. The twin tells the user.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task editor = TASK(TASK, "editor"), save, tell = THRUM_TASK_NONE;

	at(3);
	thrum_task_switch(editor);
	save = TASK(ASYNC, "save draft");
	if (!broken) {
		tell = TASK(ON_FAILURE, "tell user");
		thrum_task_wait(tell, save);
	}
	at(30);
	thrum_task_switch(save);
	thrum_task_fail(save, "disk full");
	if (!broken) {
		thrum_task_switch(tell);
		thrum_task_read(tell, save);
		thrum_task_resolve(tell);
	}
	thrum_task_switch(editor);
	at(100);
	thrum_task_resolve(editor);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
}
