/* SPDX-License-Identifier: ISC */
/* To open the index fails, so each search reads all files instead. The twin can open it. */
#include "timetable.h"

static void story(void)
{
	thrum_task open = TASK(REQUEST, "open index");
	unsigned now = 10;
	char label[16];

	idle_until(now);
	if (broken)
		thrum_task_fail(open, "no such file");
	else
		thrum_task_resolve(open);
	for (unsigned i = 0; i < 4; i++) {
		thrum_task search, scan;

		at(now);
		snprintf(label, sizeof(label), "search %u", i);
		search = TASK(TASK, label);
		thrum_task_switch(search);
		if (broken) {
			scan = TASK(REQUEST, "scan files");
			thrum_task_wait(search, scan);
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now += 50);
			thrum_task_resolve(scan);
			thrum_task_switch(search);
		}
		at(now += 2);
		thrum_task_resolve(search);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
