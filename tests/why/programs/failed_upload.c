/* SPDX-License-Identifier: ISC */
/*
 * A thread uploads a file and fails; main never reads the failure. The twin reads it a second
 * later.
 */
#include "timetable.h"

static thrum_task upload;

static void upload_file(void)
{
	at(10);
	thrum_task_switch(upload);
	at(80);
	thrum_task_fail(upload, "connection reset by peer");
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task backup = TASK(TASK, "backup");

	at(5);
	thrum_task_switch(backup);
	upload = TASK(TASK, "upload");
	start_lane("uploads", upload_file);
	idle_until(1080);
	if (!broken)
		thrum_task_read(backup, upload);
	thrum_task_resolve(backup);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(2000);
}
