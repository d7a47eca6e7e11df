/* SPDX-License-Identifier: ISC */
/*
 * Fibers whose timers come in turns stand in a queue that links them. The menu makes the index ready a second
 * time while that stands there, and so the mail behind it falls out. In the twin that does nothing, as in a
 * queue that looks who is in it.
 */
#include "timetable.h"

#define ROUNDS 4
#define TWICE 2
#define FIBERS 2

static thrum_task fibers[FIBERS], timers[FIBERS];

static void sleep_again(unsigned i)
{
	timers[i] = TASK(TIMER, "timer");
	thrum_task_due(timers[i], 20000000);
	thrum_task_wait(fibers[i], timers[i]);
}

static void run(unsigned i, bool is_last)
{
	thrum_task_switch(fibers[i]);
	thrum_task_read(fibers[i], timers[i]);
	if (is_last)
		thrum_task_resolve(fibers[i]);
	else
		sleep_again(i);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	static const char *const names[FIBERS] = {"index", "mail"};
	thrum_task menu = TASK(FIBER, "menu");

	for (unsigned i = 0; i < FIBERS; i++) {
		fibers[i] = TASK(FIBER, names[i]);
		thrum_task_should_resolve(fibers[i]);
		sleep_again(i);
	}
	for (unsigned round = 1; round <= ROUNDS; round++) {
		bool is_lost = broken && round >= TWICE;

		at(20 * round);
		for (unsigned i = 0; i < FIBERS && (i == 0 || !broken || round <= TWICE); i++) {
			thrum_task_resolve(timers[i]);
			thrum_task_ready(fibers[i]);
		}
		if (round == TWICE) {
			thrum_task_switch(menu);
			thrum_task_ready(fibers[0]);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		for (unsigned i = 0; i < (is_lost ? 1 : FIBERS); i++)
			run(i, round == ROUNDS);
	}
	thrum_task_resolve(menu);
	beat_until(2000);
	if (broken)
		killed();
}
