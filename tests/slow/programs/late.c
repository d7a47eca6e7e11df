/* SPDX-License-Identifier: ISC */
/* A timer fires every 20 ms. Once, its lane compresses a file for 200 ms, in the twin for 4 ms. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 0;
	char label[16];

	for (unsigned i = 0; i < 8; i++) {
		thrum_task tick, compress;

		snprintf(label, sizeof(label), "tick %u", i);
		tick = TASK(TIMER, label);
		thrum_task_due(tick, 20 * MS);
		now += 10;
		idle_until(now);
		now += 10;
		if (i == 4) {
			compress = TASK(TASK, "compress log");
			thrum_task_switch(compress);
			at(now - 10 + (broken ? 200 : 4));
			thrum_task_resolve(compress);
			thrum_task_switch(THRUM_TASK_NONE);
			now = broken ? now + 190 : now;
		}
		if (now_ms() < now)
			idle_until(now);
		thrum_task_resolve(tick);
	}
	idle_until(500);
}
