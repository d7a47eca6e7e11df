/* SPDX-License-Identifier: ISC */
/* Each of ten requests loads the template from the disk; in the twin, the first one does. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 10; i++) {
		thrum_task get, load;

		at(now);
		snprintf(label, sizeof(label), "GET /%u", i);
		get = TASK(TASK, label);
		thrum_task_switch(get);
		if (broken || i == 0) {
			load = TASK(REQUEST, "load template");
			thrum_task_wait(get, load);
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now += 20);
			thrum_task_resolve(load);
			thrum_task_switch(get);
			thrum_task_read(get, load);
		}
		at(now += 1);
		thrum_task_resolve(get);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
