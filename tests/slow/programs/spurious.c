/* SPDX-License-Identifier: ISC */
/* A request waits until a collection is over. It wakes in between for nothing and looks again. The
 * collector begins when the export comes to a safepoint: once after 150 ms, in the twin after 3 ms. */
#include "timetable.h"

static thrum_task stopped, started;

/* The caller waits for a condition, as the running task. */
static void wait_until(thrum_task condition, unsigned ms)
{
	thrum_task_wait(thrum_task_current(), condition);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	at(ms);
	thrum_resume();
	thrum_task_read(thrum_task_current(), condition);
}

static unsigned safepoint(void)
{
	return broken ? 200 : 53;
}

static void collector(void)
{
	idle_until(50);
	THRUM_RUN (TASK(TASK, "collect garbage")) {
		wait_until(stopped, safepoint() + 2);
		at(safepoint() + 5);
		thrum_task_signal(started, 1);
		thrum_task_resolve(thrum_task_current());
	}
	idle_until(400);
}

static void exporter(void)
{
	idle_until(20);
	THRUM_RUN (TASK(TASK, "export report")) {
		at(safepoint());
		thrum_task_signal(stopped, 1);
		at(350);
		thrum_task_resolve(thrum_task_current());
	}
	idle_until(400);
}

static void story(void)
{
	at(1);
	stopped = TASK(CONDITION, "world stopped");
	started = TASK(CONDITION, "world started");
	start_lane("collector", collector);
	start_lane("exporter", exporter);
	for (unsigned i = 0; i < 8; i++) {
		idle_until(i < 5 ? 5 + i * 10 : 240 + i * 10);
		THRUM_RUN (TASK(REQUEST, "serve")) {
			at(now_ms() + 3);
			if (i == 4) {
				/* Both conditions are one for the system. */
				wait_until(started, safepoint() + 1);
				wait_until(started, safepoint() + 6);
			}
			thrum_task_resolve(thrum_task_current());
		}
	}
	idle_until(400);
}
