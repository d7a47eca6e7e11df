/* SPDX-License-Identifier: ISC */
/*
 * A build waits for four compilations. One is cancelled, and nobody counts that, so the build never goes
 * on. In the twin it does.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task build = TASK(JOIN, "build"), part[4], user = TASK(TASK, "user");

	thrum_task_should_resolve(build);
	at(1);
	for (unsigned i = 0; i < 4; i++) {
		part[i] = TASK(TASK, i == 1 ? "parse" : "compile");
		thrum_task_wait(build, part[i]);
	}
	for (unsigned i = 0; i < 4; i++) {
		at(10 * i + 10);
		thrum_task_switch(i == 1 ? user : part[i]);
		if (i == 1)
			thrum_task_cancel(part[i]);
		else
			thrum_task_resolve(part[i]);
	}
	thrum_task_switch(user);
	thrum_task_resolve(user);
	thrum_task_switch(THRUM_TASK_NONE);
	at(41);
	if (!broken) {
		thrum_task_switch(build);
		for (unsigned i = 0; i < 4; i++)
			thrum_task_read(build, part[i]);
		thrum_task_resolve(build);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	beat_until(2000);
	if (broken)
		killed();
}
