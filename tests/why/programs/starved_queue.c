/* SPDX-License-Identifier: ISC */
/*
 * Jobs come faster than they are done, and the newest is always taken first: the first letter waits
 * for 3 s, to the end. The twin takes the oldest first, and does them as fast as they come.
 */
#include "timetable.h"

static void story(void)
{
	enum {
		COUNT = 300
	};
	thrum_task job[2 * COUNT], server = TASK(TASK, "server");
	unsigned made = 0, done = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		thrum_task next;

		at(10 + 10 * i);
		thrum_task_switch(server);
		for (unsigned k = 0; k < (broken && i % 8 == 0 ? 2u : 1u); k++) {
			job[made] = TASK(TASK, made == 0 ? "letter" : "job");
			thrum_task_ready(job[made++]);
		}
		next = broken ? job[made - 1] : job[done++];
		thrum_task_switch(next);
		at(19 + 10 * i);
		thrum_task_resolve(next);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	killed();
}
