/* SPDX-License-Identifier: ISC */
/* Threads ask a server by poll(). The server is off once, so that one thread waits 150 ms, in the twin 3 ms
 * as always. */
#include "timetable.h"

static struct thrum_tag ask = THRUM__TAG("wait for work: poll in ask_server");

static void story(void)
{
	unsigned now = 10;
	char label[24];

	for (unsigned i = 0; i < 8; i++) {
		thrum_task lookup;

		at(now);
		snprintf(label, sizeof(label), "lookup %u", i);
		lookup = TASK(THREAD, label);
		thrum_task_switch(lookup);
		at(now += 1);
		thrum_suspend(&ask);
		at(now += broken && i == 5 ? 150 : 3);
		thrum_resume();
		at(now += 1);
		thrum_task_resolve(lookup);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
