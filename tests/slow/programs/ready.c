/* SPDX-License-Identifier: ISC */
/* An own scheduler says when its fibers are ready. Once, an indexer keeps the lane for 110 ms, in the
 * twin for 2 ms. */
#include "timetable.h"

static void story(void)
{
	thrum_task indexer = TASK(FIBER, "indexer");
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 7; i++) {
		thrum_task fiber;

		at(now);
		snprintf(label, sizeof(label), "session %u", i);
		fiber = TASK(FIBER, label);
		THRUM_RUN (fiber)
			at(now += 1);
		idle_until(now += 5);
		thrum_task_ready(fiber);
		THRUM_RUN (indexer)
			at(now += broken && i == 4 ? 110 : 2);
		THRUM_RUN (fiber) {
			at(now += 1);
			thrum_task_resolve(fiber);
		}
	}
	thrum_task_resolve(indexer);
	idle_until(300);
}
