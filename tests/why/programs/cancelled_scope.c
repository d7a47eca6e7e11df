/* SPDX-License-Identifier: ISC */
/*
 * A scope ends on one lane and cancels the tasks that began in it, but the writer on the other lane
 * still waits for the flush. In the twin the flush is done by then.
 */
#include "timetable.h"

static thrum_task flush;

static void write_log(void)
{
	thrum_task writer = TASK(FIBER, "writer");

	thrum_task_should_resolve(writer);
	thrum_task_switch(writer);
	at(15);
	thrum_task_wait(writer, flush);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (broken)
		stay();
	at(31);
	thrum_resume();
	thrum_task_read(writer, flush);
	thrum_task_resolve(writer);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task scope = TASK(SWITCH, "scope");

	flush = TASK(PROMISE, "flush");
	start_lane("writes", write_log);
	at(30);
	if (!broken)
		thrum_task_resolve(flush);
	at(40);
	thrum_task_switch(scope);
	if (broken)
		thrum_task_cancel(flush);
	thrum_task_resolve(scope);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1500);
	if (broken)
		killed();
}
