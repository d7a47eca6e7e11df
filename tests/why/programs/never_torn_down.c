/* SPDX-License-Identifier: ISC */
/*
 * A fetcher asks a store for rows. One row never comes, as the store forgets the question. After
 * two seconds a watchdog cancels all, and the program ends. In the twin all rows come.
 */
#include "timetable.h"

static void story(void)
{
	enum {
		COUNT = 20
	};
	thrum_task fetcher = TASK(TASK, "fetcher"), store = TASK(TASK, "store");
	thrum_task watchdog = TASK(TIMER, "watchdog"), row = THRUM_TASK_NONE;

	thrum_task_should_resolve(fetcher);
	thrum_task_due(watchdog, 2 * 1000 * MS);
	for (unsigned i = 0; i < COUNT; i++) {
		at(10 + 10 * i);
		thrum_task_switch(fetcher);
		row = TASK(PROMISE, "row");
		thrum_task_wait(fetcher, row);
		idle_until(13 + 10 * i);
		if (broken && i == COUNT - 1)
			break;
		thrum_task_switch(store);
		thrum_task_resolve(row);
		thrum_task_switch(fetcher);
		thrum_task_read(fetcher, row);
	}
	if (!broken)
		thrum_task_resolve(fetcher);
	thrum_task_switch(THRUM_TASK_NONE);
	idle_until(2000);
	thrum_task_resolve(watchdog);
	if (broken) {
		thrum_task_switch(watchdog);
		thrum_task_cancel(row);
		thrum_task_cancel(fetcher);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	thrum_task_cancel(store);
}
