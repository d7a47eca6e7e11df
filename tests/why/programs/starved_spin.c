/* SPDX-License-Identifier: ISC */
/*
 * A spinner runs in turns of 5 ms, again and again. Another fiber, whose timer has fired, never
 * runs until the end at 2 s. In the twin it gets its turn.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task spinner = TASK(FIBER, "spinner"), patient = TASK(FIBER, "patient"), timer;

	thrum_task_should_resolve(patient);
	at(1);
	thrum_task_switch(patient);
	timer = TASK(TIMER, "10 ms");
	thrum_task_due(timer, 10 * MS);
	thrum_task_wait(patient, timer);
	thrum_task_switch(spinner);
	at(11);
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_task_resolve(timer);
	for (unsigned ms = 15; ms <= 2000; ms += 5) {
		thrum_task_switch(spinner);
		at(ms);
		thrum_task_switch(THRUM_TASK_NONE);
		if (!broken && ms == 20) {
			thrum_task_switch(patient);
			thrum_task_read(patient, timer);
			thrum_task_resolve(patient);
		}
	}
	killed();
}
