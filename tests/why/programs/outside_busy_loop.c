/* SPDX-License-Identifier: ISC */
/*
 * A loop looks at its timers only when it has nothing else to do. A chatty socket always has something, so
 * that the timer for which a commit waits never runs. In the twin it does.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task commit = TASK(TASK, "commit"), flush, socket = TASK(HANDLE, "socket");

	at(5);
	thrum_task_switch(commit);
	flush = TASK(TIMER, "flush");
	thrum_task_due(flush, 50 * MS);
	thrum_task_wait(commit, flush);
	thrum_task_should_resolve(commit);
	thrum_task_switch(THRUM_TASK_NONE);
	for (unsigned ms = 10; ms < 400; ms += 10) {
		idle_until(ms);
		thrum_task_switch(socket);
		thrum_task_switch(THRUM_TASK_NONE);
		if (!broken && ms == 60) {
			thrum_task_switch(flush);
			thrum_task_resolve(flush);
			thrum_task_switch(commit);
			thrum_task_read(commit, flush);
			thrum_task_resolve(commit);
			thrum_task_switch(THRUM_TASK_NONE);
		}
	}
	killed();
}
