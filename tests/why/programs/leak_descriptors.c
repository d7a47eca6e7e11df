/* SPDX-License-Identifier: ISC */
/*
 * Each request opens a descriptor and never closes it. After 24 the limit is reached, and all
 * requests fail. The twin closes it. Another task reads the failures and goes on.
 */
#include "timetable.h"

static void story(void)
{
	enum {
		COUNT = 200,
		LIMIT = 24
	};
	thrum_task server = TASK(TASK, "server");
	unsigned open = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		thrum_task request, descriptor = THRUM_TASK_NONE;

		at(10 + 20 * i);
		thrum_task_switch(server);
		request = TASK(TASK, "request");
		thrum_task_switch(request);
		if (open < LIMIT) {
			descriptor = TASK(HANDLE, "descriptor");
			open++;
		}
		at(15 + 20 * i);
		if (descriptor && !broken) {
			thrum_task_resolve(descriptor);
			open--;
		}
		if (descriptor)
			thrum_task_resolve(request);
		else
			thrum_task_fail(request, "too many open files");
		thrum_task_switch(server);
		thrum_task_read(server, request);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	killed();
}
