/* SPDX-License-Identifier: ISC */
/* A request has its label only when it is parsed: before, it is a task without one, which becomes it.
 * The client of the fifth one is slow to send it, by 160 ms; the twin's is not. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 7; i++) {
		thrum_task accept, body, get;

		at(now);
		accept = thrum_task_create(THRUM_KIND_PROMISE, NULL);
		body = TASK(REQUEST, "body");
		thrum_task_wait(accept, body);
		idle_until(now += broken && i == 5 ? 165 : 5);
		thrum_task_resolve(body);
		thrum_task_switch(accept);
		thrum_task_read(accept, body);
		snprintf(label, sizeof(label), "GET /%u", i);
		get = TASK(PROMISE, label);
		thrum_task_become(accept, get);
		thrum_task_switch(get);
		at(now += 1);
		thrum_task_resolve(get);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
