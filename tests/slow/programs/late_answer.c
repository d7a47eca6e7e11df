/* SPDX-License-Identifier: ISC */
/* A loop handles the answers to its requests after 8 ms. Once the answer comes after 90 ms; the loop runs a
 * short task before, and has nothing to do then. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 0;
	char label[16];

	for (unsigned i = 0; i < 9; i++) {
		thrum_task query, answer, clean;

		snprintf(label, sizeof(label), "query %u", i);
		query = TASK(TASK, label);
		thrum_task_switch(query);
		answer = TASK(REQUEST, "upstream");
		thrum_task_wait(query, answer);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += 4);
		clean = TASK(TASK, "clean up");
		thrum_task_switch(clean);
		at(now += 3);
		thrum_task_resolve(clean);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += broken && i == 5 ? 90 : 1);
		thrum_task_switch(query);
		thrum_task_resolve(answer);
		thrum_task_read(query, answer);
		thrum_task_resolve(query);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += 12);
	}
	idle_until(400);
}
