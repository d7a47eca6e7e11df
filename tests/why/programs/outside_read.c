/* SPDX-License-Identifier: ISC */
/*
 * A page needs rows of the database. Ten times they come within 5 ms, the eleventh time they never
 * come. A server that waits for its next client, and a timer for the next hour, are no faults.
 */
#include "timetable.h"

static void page(unsigned when, bool answered)
{
	thrum_task page = TASK(TASK, "page"), rows;

	thrum_task_should_resolve(page);
	at(when);
	thrum_task_switch(page);
	rows = TASK(REQUEST, "read database");
	thrum_task_wait(page, rows);
	idle_until(when + 5);
	if (answered) {
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_task_resolve(rows);
		thrum_task_switch(page);
		thrum_task_read(page, rows);
		thrum_task_resolve(page);
	}
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task server = TASK(HANDLE, "accept"), hourly = TASK(TIMER, "hourly");

	thrum_task_due(hourly, 3600000000000);
	for (unsigned i = 0; i < 10; i++)
		page(10 + 10 * i, true);
	page(110, !broken);
	beat_until(4000);
	if (broken)
		killed();
	thrum_task_resolve(hourly);
	thrum_task_resolve(server);
}
