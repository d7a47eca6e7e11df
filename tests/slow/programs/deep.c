/* SPDX-License-Identifier: ISC */
/* A request waits for a handler, this for a service, this for a table, and this for a name server
 * that once takes 200 ms, in the twin 4 ms as always. */
#include "timetable.h"

static void story(void)
{
	static const char *const names[] = {"handler", "service", "table users"};
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 7; i++) {
		thrum_task chain[5];

		at(now);
		snprintf(label, sizeof(label), "GET /%u", i);
		chain[0] = TASK(TASK, label);
		for (unsigned j = 1; j < 5; j++) {
			thrum_task_switch(chain[j - 1]);
			chain[j] = j < 4 ? TASK(PROMISE, names[j - 1])
					 : TASK(REQUEST, "resolve name");
			thrum_task_wait(chain[j - 1], chain[j]);
		}
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += broken && i == 5 ? 200 : 4);
		thrum_task_resolve(chain[4]);
		for (unsigned j = 4; j-- > 0;) {
			thrum_task_switch(chain[j]);
			thrum_task_read(chain[j], chain[j + 1]);
			thrum_task_resolve(chain[j]);
		}
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
