/* SPDX-License-Identifier: ISC */
/* The only loader runs jobs, as coroutines. One of them, which warms a page, leaves it while it waits for the
 * lock that an indexer holds for 200 ms, in the twin for 1 ms. The next job is ready, but nobody wakes the
 * loader: the page doesn't keep it. */
#include "timetable.h"

static thrum_task lock, warm, load[6];

static unsigned held_until(void)
{
	return broken ? 301 : 102;
}

static void indexer(void)
{
	thrum_task reindex;

	idle_until(99);
	reindex = TASK(TASK, "reindex");
	thrum_task_switch(reindex);
	thrum_lock_acquired(lock);
	at(held_until());
	thrum_lock_released(lock);
	thrum_task_resolve(reindex);
	thrum_task_switch(THRUM_TASK_NONE);
	idle_until(400);
}

static void run(thrum_task job, unsigned until)
{
	thrum_task_switch(job);
	at(until);
	thrum_task_resolve(job);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void loader(void)
{
	for (unsigned i = 0; i < 5; i++) {
		idle_until(10 * i + 2);
		run(load[i], 10 * i + 4);
	}
	idle_until(100);
	thrum_task_switch(warm);
	thrum_task_wait(warm, lock);
	thrum_task_switch(THRUM_TASK_NONE);
	idle_until(held_until() + 1);
	thrum_task_switch(warm);
	thrum_lock_acquired(lock);
	at(held_until() + 2);
	thrum_lock_released(lock);
	thrum_task_resolve(warm);
	run(load[5], held_until() + 4);
	idle_until(400);
}

static void check_out(unsigned number, unsigned until)
{
	thrum_task self = TASK(REQUEST, "checkout");

	thrum_task_switch(self);
	load[number] = TASK(TASK, "load price");
	thrum_task_ready(load[number]);
	thrum_task_wait(self, load[number]);
	idle_until(until);
	thrum_task_read(self, load[number]);
	thrum_task_resolve(self);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	lock = TASK(LOCK, "catalogue");
	start_lane("loader", loader);
	start_lane("indexer", indexer);
	for (unsigned i = 0; i < 5; i++) {
		idle_until(10 * i + 1);
		check_out(i, 10 * i + 5);
	}
	idle_until(98);
	warm = TASK(TASK, "warm page");
	thrum_task_ready(warm);
	idle_until(101);
	check_out(5, held_until() + 5);
	idle_until(400);
}
