/* SPDX-License-Identifier: ISC */
/*
 * A signal handler signals that it is time to stop before any task waits for that. In the twin no
 * task ever waits, as all have ended by themselves. Each wait is a task of its own.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task stop = TASK(CONDITION, "stop"), handler = TASK(TASK, "handler"),
		   shutdown = TASK(TASK, "shutdown"), wait;

	thrum_task_should_resolve(shutdown);
	at(20);
	thrum_task_switch(handler);
	thrum_task_signal(stop, 0);
	thrum_task_resolve(handler);
	at(25);
	thrum_task_switch(shutdown);
	if (broken) {
		wait = TASK_WAITING(WAIT, "wait to stop", stop);
		thrum_task_wait(shutdown, wait);
	} else {
		thrum_task_resolve(shutdown);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
	if (broken)
		killed();
}
