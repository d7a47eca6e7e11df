/* SPDX-License-Identifier: ISC */
/*
 * A cleaner cancels a download as if nobody wanted it, but a viewer waits for it and is never told.
 * In the twin the viewer has left before.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task viewer = TASK(TASK, "viewer"), cleaner = TASK(TASK, "cleaner"), download;

	thrum_task_should_resolve(viewer);
	at(2);
	thrum_task_switch(viewer);
	download = TASK(PROMISE, "download");
	if (broken) {
		thrum_task_wait(viewer, download);
	} else {
		at(20);
		thrum_task_resolve(viewer);
	}
	idle_until(50);
	thrum_task_switch(cleaner);
	thrum_task_cancel(download);
	thrum_task_resolve(cleaner);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(3000);
	if (broken)
		killed();
}
