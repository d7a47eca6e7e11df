/* SPDX-License-Identifier: ISC */
/* As timeout.c, but a bind hands on the end of the timer, as in a promise with a time limit. */
#include "timetable.h"

/* Waits for an answer or a timer. Returns whether the answer comes. */
static bool ask(thrum_task lookup, const char *server, bool comes, unsigned *now)
{
	thrum_task reply = TASK(REQUEST, server), timer = TASK(TIMER, "timeout");
	thrum_task limit = thrum_task_create(THRUM_KIND_BIND, NULL);
	thrum_task either = thrum_task_create(THRUM_KIND_PICK, NULL);

	thrum_task_due(timer, 100 * MS);
	thrum_task_wait(either, reply);
	thrum_task_wait(limit, timer);
	thrum_task_wait(either, limit);
	thrum_task_wait(lookup, either);
	thrum_task_switch(THRUM_TASK_NONE);
	idle_until(*now += comes ? 5 : 100);
	thrum_task_resolve(comes ? reply : timer);
	if (!comes) {
		thrum_task_switch(limit);
		thrum_task_read(limit, timer);
		thrum_task_fail(limit, "timed out");
	}
	thrum_task_switch(either);
	thrum_task_read(either, comes ? reply : limit);
	thrum_task_cancel(comes ? timer : reply);
	thrum_task_resolve(either);
	thrum_task_switch(lookup);
	thrum_task_read(lookup, either);
	return comes;
}

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 10; i++) {
		thrum_task lookup;

		at(now);
		snprintf(label, sizeof(label), "lookup %u", i);
		lookup = TASK(TASK, label);
		thrum_task_switch(lookup);
		if (!ask(lookup, "first server", !broken || i != 6, &now))
			ask(lookup, "second server", true, &now);
		at(now += 1);
		thrum_task_resolve(lookup);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
