/* SPDX-License-Identifier: ISC */
/* The one worker serves requests from a queue, each under a lock. A backup, which is no task but its
 * thread, holds the lock for 200 ms, in the twin for 1 ms, so that the worker blocks. */
#include "timetable.h"

static thrum_task get[8], lock;

static unsigned held_until(void)
{
	return broken ? 260 : 61;
}

static void backup(void)
{
	idle_until(60);
	thrum_lock_acquired(lock);
	at(held_until());
	thrum_lock_released(lock);
	idle_until(400);
}

static void worker(void)
{
	unsigned now = 10;

	for (unsigned i = 0; i < 8; i++) {
		if (now < 10 + 10 * i + 1) {
			now = 10 + 10 * i + 1;
			idle_until(now);
		}
		thrum_task_switch(get[i]);
		thrum_task_wait(get[i], lock);
		if (i >= 5 && now < held_until() + 1)
			at(now = held_until() + 1);
		thrum_lock_acquired(lock);
		at(now += 3);
		thrum_lock_released(lock);
		thrum_task_resolve(get[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}

static void story(void)
{
	char label[16];

	lock = TASK(LOCK, "database");
	at(5);
	start_lane("worker", worker);
	start_lane("backup", backup);
	for (unsigned i = 0; i < 8; i++) {
		idle_until(10 + 10 * i);
		snprintf(label, sizeof(label), "GET /%u", i);
		get[i] = TASK(REQUEST, label);
	}
	idle_until(400);
}
