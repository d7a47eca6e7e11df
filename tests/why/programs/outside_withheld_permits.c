/* SPDX-License-Identifier: ISC */
/*
 * Pages take one of two connections for a few milliseconds each. The importer forgets to give its
 * connections back, twice, and then looks for new files every 10 ms. In the twin it gives them back.
 */
#include "timetable.h"

static thrum_task connections, importer;

static void serve(const char *label, unsigned ms)
{
	thrum_task page = TASK(TASK, label);

	thrum_task_switch(page);
	thrum_lock_acquired(connections);
	at(ms + 2);
	thrum_task_switch(page);
	thrum_lock_released(connections);
	thrum_task_resolve(page);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void import(unsigned ms)
{
	thrum_task_switch(importer);
	thrum_lock_acquired(connections);
	at(ms + 1);
	thrum_task_switch(importer);
	if (!broken)
		thrum_lock_released(connections);
	thrum_task_switch(THRUM_TASK_NONE);
}

/* The importer begins to sleep once more. */
static thrum_task begin_pause(void)
{
	thrum_task pause = TASK(TIMER, "pause");

	thrum_task_due(pause, 10 * MS);
	thrum_task_switch(importer);
	thrum_task_wait(importer, pause);
	thrum_task_switch(THRUM_TASK_NONE);
	return pause;
}

static void end_pause(thrum_task pause)
{
	thrum_task_resolve(pause);
	thrum_task_switch(importer);
	thrum_task_read(importer, pause);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task page;

	connections = TASK(SEMAPHORE, "connections");
	importer = TASK(TASK, "importer");
	for (unsigned i = 0; i < 12; i++) {
		at(5 * i + 1);
		serve("page", 5 * i + 1);
	}
	at(61);
	import(61);
	at(63);
	import(63);
	at(65);
	page = TASK(TASK, "page");
	thrum_task_switch(page);
	if (broken)
		thrum_task_wait(page, connections);
	else
		thrum_task_resolve(page);
	thrum_task_switch(THRUM_TASK_NONE);
	for (unsigned i = 7; i < 150; i++) {
		thrum_task pause = begin_pause();

		at(10 * i);
		end_pause(pause);
	}
	begin_pause();
	at(1495);
	killed();
}
