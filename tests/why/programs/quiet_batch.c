/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong: a task runs for 1.5 s without a pause, but no other task is ready on its lane
 * before it is done, and tasks on the other lane run there.
 */
#include "timetable.h"

static thrum_task summary;

static void serve(void)
{
	for (unsigned i = 0; i < 20; i++) {
		thrum_task client, timer;

		at(20 + 70 * i);
		client = TASK(TASK, "client");
		thrum_task_switch(client);
		timer = TASK(TIMER, "5 ms");
		thrum_task_due(timer, 5 * MS);
		thrum_task_wait(client, timer);
		idle_until(25 + 70 * i);
		thrum_task_resolve(timer);
		thrum_task_read(client, timer);
		thrum_task_resolve(client);
		thrum_task_switch(THRUM_TASK_NONE);
	}
}

static void story(void)
{
	thrum_task batch = TASK(TASK, "nightly batch"), mail = TASK(TASK, "mail");

	summary = TASK(PROMISE, "summary");
	start_lane("clients", serve);
	at(8);
	thrum_task_switch(mail);
	thrum_task_wait(mail, summary);
	at(10);
	thrum_task_switch(batch);
	at(1500);
	thrum_task_resolve(summary);
	thrum_task_resolve(batch);
	thrum_task_switch(mail);
	thrum_task_read(mail, summary);
	thrum_task_resolve(mail);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(2000);
}
