/* SPDX-License-Identifier: ISC */
/* A loop handles the answers to its requests after 8 ms. Once, it reloads a list in its own thread when an
 * answer is about to come, for 90 ms, in the twin for 1 ms. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 0;
	char label[16];

	for (unsigned i = 0; i < 9; i++) {
		unsigned long_turn = broken && i == 5 ? 90 : 1;
		thrum_task query, answer;

		snprintf(label, sizeof(label), "query %u", i);
		query = TASK(TASK, label);
		thrum_task_switch(query);
		answer = TASK(REQUEST, "upstream");
		thrum_task_wait(query, answer);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += 7);
		if (i % 3 == 2) {
			thrum_task reload = TASK(TASK, "reload list");

			thrum_task_switch(reload);
			at(now += long_turn);
			thrum_task_resolve(reload);
			thrum_task_switch(THRUM_TASK_NONE);
			idle_until(now); /* the loop asks, and is told at once */
		} else {
			idle_until(now += 1);
		}
		thrum_task_switch(query);
		thrum_task_resolve(answer);
		thrum_task_read(query, answer);
		thrum_task_resolve(query);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += 12);
	}
	idle_until(400);
}
