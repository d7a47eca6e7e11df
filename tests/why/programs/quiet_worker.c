/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong, though it looks like lost_queue.c: a worker is busy when the signal comes, but
 * takes the job from the queue before it waits. Then it waits for more work, which never comes. A
 * server waits for clients.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task accept = TASK(HANDLE, "accept"), worker = TASK(FIBER, "worker"),
		   filled = TASK(CONDITION, "queue filled");

	for (unsigned job = 0; job < 5; job++) {
		at(10 + 40 * job);
		thrum_task_switch(worker);
		at(15 + 40 * job);
		thrum_task_switch(accept);
		thrum_log("puts a job into the queue");
		thrum_task_signal(filled, 0);
		at(16 + 40 * job);
		thrum_task_switch(worker);
		thrum_log("takes the job out of the queue");
		at(20 + 40 * job);
		thrum_task_wait(worker, filled);
		idle_until(30 + 40 * job);
		if (job == 4)
			break;
		thrum_task_switch(accept);
		thrum_task_signal(filled, 1);
		thrum_task_switch(worker);
		thrum_task_read(worker, filled);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(5000);
	killed();
}
