/* SPDX-License-Identifier: ISC */
/*
 * Another lane makes the login ready, but its own lane writes a report without a pause. In the twin
 * the report has a lane of its own.
 */
#include "timetable.h"

static thrum_task checked, report;

static void check(void)
{
	thrum_task checker = TASK(TASK, "checker");

	thrum_task_switch(checker);
	at(20);
	thrum_task_resolve(checked);
	thrum_task_resolve(checker);
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	stay();
}

static void write_report(void)
{
	at(15);
	thrum_task_switch(report);
	at(1500);
	thrum_task_resolve(report);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task login = TASK(TASK, "login");

	report = TASK(TASK, "report");
	checked = TASK(PROMISE, "password checked");
	start_lane("checks", check);
	at(5);
	thrum_task_switch(login);
	thrum_task_wait(login, checked);
	thrum_task_switch(THRUM_TASK_NONE);
	if (broken)
		write_report();
	else
		start_lane("reports", write_report);
	at(broken ? 1501 : 21);
	thrum_task_switch(login);
	thrum_task_read(login, checked);
	thrum_task_resolve(login);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(2500);
	killed();
}
