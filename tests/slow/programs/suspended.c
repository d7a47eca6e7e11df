/* SPDX-License-Identifier: ISC */
/* A thread stores records, and is suspended while the disk writes. Once that takes 150 ms, in the
 * twin 3 ms as always. */
#include "timetable.h"

THRUM_CATEGORY(disk, "disk");
THRUM_TAG(sync_tag, &disk, "disk/fsync", 1);

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 8; i++) {
		thrum_task store;

		at(now);
		snprintf(label, sizeof(label), "store %u", i);
		store = TASK(TASK, label);
		thrum_task_switch(store);
		at(now += 1);
		thrum_suspend(&sync_tag);
		at(now += broken && i == 5 ? 150 : 3);
		thrum_resume();
		at(now += 1);
		thrum_task_resolve(store);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
