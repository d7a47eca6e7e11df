/* SPDX-License-Identifier: ISC */
/*
 * Each client gets a session, and no session ever ends. The twin ends each after 50 ms.
 */
#include "timetable.h"

static void story(void)
{
	enum {
		COUNT = 400,
		LIFE = 5
	};
	thrum_task server = TASK(TASK, "server"), session[COUNT];

	for (unsigned i = 0; i < COUNT; i++) {
		at(10 + 10 * i);
		thrum_task_switch(server);
		session[i] = TASK(PROMISE, "session");
		if (!broken && i >= LIFE)
			thrum_task_resolve(session[i - LIFE]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	if (broken)
		_exit(1);
	at(4100);
	for (unsigned i = COUNT - LIFE; i < COUNT; i++)
		thrum_task_resolve(session[i]);
}
