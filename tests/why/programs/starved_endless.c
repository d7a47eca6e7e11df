/* SPDX-License-Identifier: ISC */
/*
 * Two jobs take turns of 2 ms. One of them loops for ever in its last turn. In the twin its last turn
 * is short, and a report that nobody waits for keeps the lane, when both have ended.
 */
#include "timetable.h"

static void beat(void)
{
	beat_until(3000);
	killed();
}

static void story(void)
{
	thrum_task job[2] = {TASK(TASK, "import"), TASK(TASK, "export")};

	thrum_task_should_resolve(job[1]);
	start_lane("beat", beat);
	for (unsigned turn = 0; turn < 20; turn++) {
		at(10 + 2 * turn);
		thrum_task_switch(job[turn % 2]);
	}
	at(50);
	if (!broken) {
		thrum_task_resolve(job[0]);
		thrum_task_resolve(job[1]);
		thrum_task_switch(TASK(TASK, "report"));
	} else {
		thrum_task_switch(job[0]);
	}
	stay();
}
