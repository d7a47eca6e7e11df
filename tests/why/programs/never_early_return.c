/* SPDX-License-Identifier: ISC */
/*
 * A worker returns early, without giving the answer for which a client waits. The twin gives it.
 */
#include "timetable.h"

static void story(void)
{
	thrum_task client = TASK(TASK, "client"), worker, answer;

	thrum_task_should_resolve(client);
	at(2);
	thrum_task_switch(client);
	worker = TASK(TASK, "worker");
	thrum_task_switch(worker);
	answer = TASK(PROMISE, "answer");
	thrum_task_switch(client);
	thrum_task_wait(client, answer);
	at(8);
	thrum_task_switch(worker);
	if (!broken)
		thrum_task_resolve(answer);
	thrum_task_resolve(worker);
	at(9);
	if (!broken) {
		thrum_task_switch(client);
		thrum_task_read(client, answer);
		thrum_task_resolve(client);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(3000);
	if (broken)
		killed();
}
