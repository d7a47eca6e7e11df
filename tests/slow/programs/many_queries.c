/* SPDX-License-Identifier: ISC */
/* The page of a user asks for each of twelve orders alone; the twin asks for all of them at once. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[32];

	for (unsigned i = 0; i < 5; i++) {
		thrum_task page, query;

		at(now);
		snprintf(label, sizeof(label), "GET /user/%u", i);
		page = TASK(TASK, label);
		thrum_task_switch(page);
		for (unsigned order = 0; order < (broken ? 12 : 1); order++) {
			query = TASK(REQUEST, "SELECT orders");
			thrum_task_wait(page, query);
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now += 2);
			thrum_task_resolve(query);
			thrum_task_switch(page);
			thrum_task_read(page, query);
		}
		thrum_task_resolve(page);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
