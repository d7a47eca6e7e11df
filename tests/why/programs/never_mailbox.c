/* SPDX-License-Identifier: ISC */
/*
 * A sum needs three parts from a mailbox. Three producers should put in one part each, but one of
 * them ends without doing so. Each take is a task of its own, as with promises.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task parts = TASK(MAILBOX, "parts"), sum = TASK(TASK, "sum"), producer[3], take;

	thrum_task_should_resolve(sum);
	for (unsigned i = 0; i < 3; i++)
		producer[i] = TASK(TASK, i == 1 ? "producer 1" : "producer");
	for (unsigned i = 0; i < 3; i++) {
		at(10 * i + 5);
		thrum_task_switch(sum);
		take = TASK_WAITING(WAIT, "take", parts);
		thrum_task_wait(sum, take);
		at(10 * i + 7);
		thrum_task_switch(producer[i]);
		if (broken && i == 1) {
			/* The third puts in the part that the second didn't. */
			thrum_task_resolve(producer[i++]);
			at(10 * i + 7);
			thrum_task_switch(producer[i]);
		}
		thrum_task_read(take, parts);
		thrum_task_resolve(take);
		thrum_task_resolve(producer[i]);
		thrum_task_switch(sum);
		thrum_task_read(sum, take);
	}
	at(38);
	if (broken) {
		take = TASK_WAITING(WAIT, "take", parts);
		thrum_task_wait(sum, take);
	} else {
		thrum_task_resolve(sum);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1500);
	if (broken)
		killed();
}
