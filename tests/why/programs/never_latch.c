/* SPDX-License-Identifier: ISC */
/*
 * An upload waits until each of its parts has counted a latch down. One part finds that it is there already,
 * and returns early, without counting. In the twin it counts, too.
 */
#include "timetable.h"

#define PARTS 4
#define ODD 1

static void story(void)
{
	static const char *const names[PARTS] = {"part 1", "part 2", "part 3", "part 4"};
	thrum_task upload = TASK(TASK, "upload"), latch = TASK(CONDITION, "parts left"),
		   part[PARTS];
	unsigned left = PARTS;

	thrum_task_should_resolve(upload);
	for (unsigned i = 0; i < PARTS; i++)
		part[i] = TASK(FIBER, names[i]);
	at(2);
	thrum_task_wait(upload, latch);
	for (unsigned i = 0; i < PARTS; i++) {
		bool is_there = i == ODD;

		at(10 * i + 5);
		thrum_task_switch(part[i]);
		at(10 * i + (is_there ? 6 : 12));
		if (!broken || !is_there) {
			left--;
			thrum_task_signal(latch, 1);
		}
		thrum_task_resolve(part[i]);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	if (left == 0) {
		thrum_task_read(upload, latch);
		thrum_task_resolve(upload);
	}
	beat_until(2000);
	if (broken)
		killed();
}
