/* SPDX-License-Identifier: ISC */
/* Each client waits for a condition until its entry is flushed. The flusher takes the disk's lock, which a
 * cleaner holds once for 100 ms. The twin has no cleaner. */
#include "timetable.h"

static void story(void)
{
	thrum_task flushed = TASK(CONDITION, "flushed"), disk = TASK(LOCK, "disk");
	thrum_task flusher = TASK(TASK, "flusher"), cleaner = TASK(TASK, "cleaner");
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 6; i++) {
		bool is_behind = broken && i == 2;
		thrum_task client;

		at(now);
		snprintf(label, sizeof(label), "client %u", i);
		client = TASK(TASK, label);
		if (is_behind)
			THRUM_RUN (cleaner)
				thrum_lock_acquired(disk);
		thrum_task_switch(client);
		at(now += 1);
		thrum_task_wait(client, flushed);
		thrum_task_switch(flusher);
		at(now += 2);
		if (is_behind) {
			thrum_task_wait(flusher, disk);
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now += 100);
			THRUM_RUN (cleaner)
				thrum_lock_released(disk);
			thrum_task_switch(flusher);
		}
		thrum_lock_acquired(disk);
		at(now += 1);
		thrum_lock_released(disk);
		thrum_task_signal(flushed, 1);
		thrum_task_switch(client);
		thrum_task_read(client, flushed);
		at(now += 1);
		thrum_task_resolve(client);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
	thrum_task_resolve(flusher);
	thrum_task_resolve(cleaner);
	at(301);
}
