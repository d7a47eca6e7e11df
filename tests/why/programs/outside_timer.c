/* SPDX-License-Identifier: ISC */
/*
 * A retry waits for a timer that was due after 50 ms, but the loop goes round without running it.
 * The twin's timer is due in an hour, and the retry waits for it as intended.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task retry = TASK(TASK, "retry"), backoff;

	at(10);
	thrum_task_switch(retry);
	backoff = TASK(TIMER, "backoff");
	thrum_task_due(backoff, broken ? 50 * MS : 3600000000000);
	thrum_task_wait(retry, backoff);
	if (broken)
		thrum_task_should_resolve(retry);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(5000);
	killed();
}
