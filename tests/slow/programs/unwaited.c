/* SPDX-License-Identifier: ISC */
/* No wait is recorded. A request goes on after its child has rendered, on another lane, which once
 * takes 130 ms, in the twin 6 ms as always. */
#include "timetable.h"

static thrum_task get[7], render[7];

static unsigned begin(unsigned i)
{
	return 10 + 20 * i + (broken && i > 4 ? 130 : 0);
}

static void renderer(void)
{
	for (unsigned i = 0; i < 7; i++) {
		idle_until(begin(i) + 1);
		thrum_task_switch(render[i]);
		at(begin(i) + (broken && i == 4 ? 137 : 7));
		thrum_task_resolve(render[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}

static void story(void)
{
	char label[16];

	start_lane("renderer", renderer);
	for (unsigned i = 0; i < 7; i++) {
		idle_until(begin(i));
		snprintf(label, sizeof(label), "GET /%u", i);
		get[i] = TASK(TASK, label);
		thrum_task_switch(get[i]);
		snprintf(label, sizeof(label), "render %u", i);
		render[i] = TASK(TASK, label);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(begin(i) + (broken && i == 4 ? 138 : 8));
		thrum_task_switch(get[i]);
		at(begin(i) + (broken && i == 4 ? 139 : 9));
		thrum_task_resolve(get[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
