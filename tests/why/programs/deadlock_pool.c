/* SPDX-License-Identifier: ISC */
/*
 * Two lanes run the jobs of one queue. A page blocks its lane until its picture is there, which is a
 * job as well. When both lanes run pages, nobody is left for the pictures. In the twin the second
 * page comes later.
 */
#include "timetable.h"

#define PAGES 6

static thrum_task pages[PAGES], pictures[PAGES];

static void run_picture(unsigned i, unsigned from, unsigned to)
{
	idle_until(from);
	thrum_task_switch(pictures[i]);
	at(to);
	thrum_task_resolve(pictures[i]);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void run_page(unsigned i, unsigned from, unsigned done)
{
	idle_until(from);
	thrum_task_switch(pages[i]);
	pictures[i] = TASK(TASK, "picture");
	thrum_task_wait(pages[i], pictures[i]);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (!done)
		stay();
	at(done);
	thrum_resume();
	thrum_task_read(pages[i], pictures[i]);
	thrum_task_resolve(pages[i]);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void first_lane(void)
{
	for (unsigned i = 0; i < 4; i++)
		run_page(i, 10 + 20 * i, 16 + 20 * i);
	run_page(4, 100, broken ? 0 : 106);
	run_picture(5, 112, 115);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	stay();
}

static void second_lane(void)
{
	for (unsigned i = 0; i < 4; i++)
		run_picture(i, 12 + 20 * i, 15 + 20 * i);
	if (!broken)
		run_picture(4, 102, 105);
	run_page(5, broken ? 101 : 110, broken ? 0 : 116);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	stay();
}

static void story(void)
{
	for (unsigned i = 0; i < PAGES; i++)
		pages[i] = TASK(TASK, "page");
	start_lane("first worker", first_lane);
	start_lane("second worker", second_lane);
	beat_until(2000);
	killed();
}
