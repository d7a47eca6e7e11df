/* SPDX-License-Identifier: ISC */
/*
 * A query takes longer than its timeout, which cancels it; the report that waits for the query is
 * cancelled too. In the twin the query is faster and the timeout is cancelled, as intended.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task report = TASK(TASK, "report"), query, timeout;

	thrum_task_should_resolve(report);
	at(10);
	thrum_task_switch(report);
	query = TASK(REQUEST, "query");
	timeout = TASK(TIMER, "timeout");
	thrum_task_due(timeout, 30 * MS);
	thrum_task_wait(report, query);
	idle_until(broken ? 40 : 35);
	if (broken) {
		thrum_task_switch(timeout);
		thrum_task_cancel(query);
		thrum_task_resolve(timeout);
		thrum_task_switch(report);
		thrum_task_read(report, query);
		thrum_task_cancel(report);
	} else {
		thrum_task_resolve(query);
		thrum_task_switch(report);
		thrum_task_read(report, query);
		thrum_task_cancel(timeout);
		thrum_task_resolve(report);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
}
