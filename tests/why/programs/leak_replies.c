/* SPDX-License-Identifier: ISC */
/*
 * One lane asks, the other replies to every second question only. In the twin it falls behind by
 * 150 questions, but then replies to all.
 */
#include "timetable.h"

enum {
	COUNT = 300
};
static thrum_task reply[COUNT];

static void answer(void)
{
	for (unsigned i = 0; i < COUNT; i++) {
		at(broken ? 15 + 10 * i : 1500 + 6 * i);
		if (!broken || i % 2 == 0)
			thrum_task_resolve(reply[i]);
	}
	if (broken)
		stay();
}

static void story(void)
{
	thrum_task asker = TASK(TASK, "asker");

	start_lane("answers", answer);
	for (unsigned i = 0; i < COUNT; i++) {
		at(10 + 10 * i);
		thrum_task_switch(asker);
		reply[i] = TASK(PROMISE, "reply");
		thrum_task_switch(THRUM_TASK_NONE);
	}
	beat_until(5000);
	if (broken)
		killed();
}
