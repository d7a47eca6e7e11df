/* SPDX-License-Identifier: ISC */
/* A pool has two connections. Two exports hold both for 400 ms, in the twin for 10 ms. */
#include "timetable.h"

static void story(void)
{
	thrum_task pool = TASK(SEMAPHORE, "connections"), export[2], get[6];
	unsigned length = broken ? 400 : 10;
	char label[16];

	for (unsigned i = 0; i < 2; i++) {
		at(10);
		export[i] = TASK(TASK, i ? "export invoices" : "export orders");
		THRUM_RUN (export[i])
			thrum_lock_acquired(pool);
	}
	for (unsigned i = 0; i < 6; i++) {
		at(20 + i);
		snprintf(label, sizeof(label), "GET /%u", i);
		get[i] = TASK(TASK, label);
		thrum_task_wait(get[i], pool);
	}
	for (unsigned i = 0; i < 2; i++) {
		idle_until(20 + length + i);
		THRUM_RUN (export[i]) {
			thrum_lock_released(pool);
			thrum_task_resolve(export[i]);
		}
	}
	for (unsigned i = 0; i < 6; i++) {
		THRUM_RUN (get[i]) {
			thrum_lock_acquired(pool);
			at(22 + length + 2 * i);
			thrum_lock_released(pool);
			thrum_task_resolve(get[i]);
		}
	}
	idle_until(600);
}
