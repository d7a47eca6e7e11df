/* SPDX-License-Identifier: ISC */
/* Queries hold a mutex of promises in turn: one promise takes it, another goes on with it, and gives
 * it back when a timer is due. The first holds it for 150 ms, in the twin for 2 ms as the others. */
#include "timetable.h"

#define QUERIES 5

static void story(void)
{
	thrum_task mutex = TASK(LOCK, "database");
	thrum_task lookups[QUERIES], locked[QUERIES], work[QUERIES];
	unsigned now = 10;
	char label[16];

	at(now);
	for (unsigned i = 0; i < QUERIES; i++) {
		thrum_task query;

		snprintf(label, sizeof label, "lookup %u", i);
		lookups[i] = TASK(PROMISE, label);
		snprintf(label, sizeof label, "query %u", i);
		query = TASK(ASYNC, label);
		thrum_task_switch(query);
		locked[i] = thrum_task_create(THRUM_KIND_WAIT, NULL);
		thrum_task_wait(locked[i], mutex);
		work[i] = thrum_task_create_waiting(THRUM_KIND_BIND, NULL, locked[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	for (unsigned i = 0; i < QUERIES; i++) {
		unsigned length = broken && i == 0 ? 150 : 2;
		thrum_task timer;

		thrum_task_switch(locked[i]);
		thrum_lock_acquired(mutex);
		thrum_task_resolve(locked[i]);
		thrum_task_switch(work[i]);
		thrum_task_read(work[i], locked[i]);
		snprintf(label, sizeof label, "sleep %u ms", length);
		timer = TASK(TIMER, label);
		thrum_task_wait(work[i], timer);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += length);
		thrum_task_resolve(timer);
		thrum_task_switch(work[i]);
		thrum_task_read(work[i], timer);
		thrum_task_resolve(lookups[i]);
		thrum_lock_released(mutex);
		thrum_task_resolve(work[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
