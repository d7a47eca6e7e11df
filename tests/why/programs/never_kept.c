/* SPDX-License-Identifier: ISC */
/*
 * Buffers are handles that each user drops after some milliseconds. One is never dropped. In the twin it is.
 */
#include "timetable.h"

#define BUFFERS 13

static void story(void)
{
	thrum_task user = TASK(TASK, "user");

	at(1);
	for (unsigned i = 0; i < BUFFERS; i++) {
		thrum_task_switch(user);
		thrum_task buffer = TASK(HANDLE, "buffer");

		thrum_task_should_resolve(buffer);
		at(9 + 8 * i);
		if (!broken || i + 1 < BUFFERS)
			thrum_task_resolve(buffer);
	}
	thrum_task_resolve(user);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(3000);
	killed();
}
