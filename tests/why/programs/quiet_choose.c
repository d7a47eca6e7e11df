/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong: three servers are asked, the first answer is taken and the other requests are
 * cancelled. The choice had waited for these too, but it has ended.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task query = TASK(TASK, "query"), choice, server[3];

	thrum_task_should_resolve(query);
	at(5);
	thrum_task_switch(query);
	choice = TASK(CHOOSE, "first answer");
	for (unsigned i = 0; i < 3; i++) {
		server[i] = TASK(REQUEST, i == 1 ? "near server" : "far server");
		thrum_task_wait(choice, server[i]);
	}
	thrum_task_wait(query, choice);
	idle_until(25);
	thrum_task_resolve(server[1]);
	thrum_task_switch(choice);
	thrum_task_read(choice, server[1]);
	thrum_task_resolve(choice);
	thrum_task_switch(query);
	thrum_task_read(query, choice);
	thrum_task_cancel(server[0]);
	thrum_task_cancel(server[2]);
	thrum_task_resolve(query);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
}
