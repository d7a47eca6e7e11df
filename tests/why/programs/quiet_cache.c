/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong: a cache fills up within the first half second and then keeps its entries. These
 * are pending to the end, but no more come.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task cache = TASK(TASK, "cache");

	for (unsigned i = 0; i < 60; i++) {
		at(10 + 8 * i);
		thrum_task_switch(cache);
		TASK(HANDLE, "entry");
		thrum_task_switch(THRUM_TASK_NONE);
	}
	for (unsigned i = 0; i < 300; i++) {
		thrum_task lookup;

		at(500 + 15 * i);
		lookup = TASK(TASK, "lookup");
		thrum_task_switch(lookup);
		at(502 + 15 * i);
		thrum_task_resolve(lookup);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	killed();
}
