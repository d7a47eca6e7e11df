/* SPDX-License-Identifier: ISC */
/* A page fetches its six parts one after the other; the twin fetches them at once. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 5; i++) {
		thrum_task page, fetch[6];

		at(now);
		snprintf(label, sizeof(label), "page %u", i);
		page = TASK(TASK, label);
		thrum_task_switch(page);
		for (unsigned part = 0; part < 6; part++) {
			snprintf(label, sizeof(label), "fetch part %u", part);
			fetch[part] = TASK(REQUEST, label);
			thrum_task_wait(page, fetch[part]);
			if (!broken)
				continue;
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now += 10);
			thrum_task_resolve(fetch[part]);
			thrum_task_switch(page);
			thrum_task_read(page, fetch[part]);
		}
		if (!broken) {
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now += 10);
			for (unsigned part = 0; part < 6; part++)
				thrum_task_resolve(fetch[part]);
			thrum_task_switch(page);
			for (unsigned part = 0; part < 6; part++)
				thrum_task_read(page, fetch[part]);
		}
		thrum_task_resolve(page);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(500);
}
