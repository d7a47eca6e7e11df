/* SPDX-License-Identifier: ISC */
/* A request calls its parser, a task within it. To parse once takes 90 ms, in the twin 2 ms. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 7; i++) {
		thrum_task get, parse, before;

		at(now);
		snprintf(label, sizeof(label), "GET /%u", i);
		get = TASK(TASK, label);
		THRUM_RUN (get) {
			at(now += 1);
			snprintf(label, sizeof(label), "parse %u", i);
			parse = TASK(TASK, label);
			before = thrum_task_enter(parse);
			at(now += broken && i == 3 ? 90 : 2);
			thrum_task_resolve(parse);
			thrum_task_leave(before);
			at(now += 1);
			thrum_task_resolve(get);
		}
	}
	idle_until(300);
}
