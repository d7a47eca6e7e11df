/* SPDX-License-Identifier: ISC */
/*
 * Two fibers talk to each other in short turns, and each is put at the front of the queue: a third
 * one, which was ready first, has no turn for 3 s, to the end. They read the disk for most of a turn.
 * In the twin all three take turns.
 */
#include "timetable.h"

THRUM_TAG(disk, NULL, "read the disk", 0);

static void story(void)
{
	enum {
		TURNS = 300
	};
	thrum_task fibers[] = {TASK(FIBER, "ping"), TASK(FIBER, "pong"), TASK(FIBER, "index")};

	at(1);
	for (int i = 2; i >= 0; i--)
		thrum_task_ready(fibers[i]);
	for (unsigned i = 0; i < TURNS; i++) {
		thrum_task fiber = fibers[i % (broken ? 2 : 3)];

		at(10 + 10 * i);
		thrum_task_switch(fiber);
		thrum_suspend(&disk);
		at(18 + 10 * i);
		thrum_resume();
		at(19 + 10 * i);
		thrum_task_switch(THRUM_TASK_NONE);
		thrum_task_ready(fiber);
	}
	killed();
}
