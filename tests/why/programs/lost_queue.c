/* SPDX-License-Identifier: ISC */
/*
 * A worker finds the queue empty and then waits, but in between the other lane puts a job into the
 * queue and signals. In the twin this happens too, but another job comes later.
 */
#include "timetable.h"

static thrum_task filled;

static void work(void)
{
	thrum_task worker = TASK(FIBER, "worker");

	thrum_task_should_resolve(worker);
	thrum_task_switch(worker);
	at(10);
	thrum_log("the queue is empty");
	at(12);
	thrum_task_wait(worker, filled);
	thrum_suspend(THRUM_SUSPENDED);
	if (broken)
		stay();
	at(31);
	thrum_resume();
	thrum_task_read(worker, filled);
	thrum_task_resolve(worker);
}

static void story(void)
{
	thrum_task producer = TASK(TASK, "producer");

	filled = TASK(CONDITION, "queue filled");
	start_lane("worker lane", work);
	at(11);
	thrum_task_switch(producer);
	thrum_log("puts a job into the queue");
	thrum_task_signal(filled, 0);
	if (!broken) {
		at(30);
		thrum_task_signal(filled, 1);
	}
	thrum_task_resolve(producer);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(2000);
	if (broken)
		killed();
}
