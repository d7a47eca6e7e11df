/* SPDX-License-Identifier: ISC */
/*
 * A reply has come, but the task that waits for it runs only nearly a second later: until then the
 * lane resizes an image without a pause. The twin pauses every 4 ms to let others run.
 */
#include "timetable.h"

static thrum_task client, reply;

static void answer(void)
{
	thrum_task_switch(client);
	thrum_task_read(client, reply);
	thrum_task_resolve(client);
}

static void story(void)
{
	thrum_task hog = TASK(TASK, "resize image"), poll = TASK(HANDLE, "poll");

	client = TASK(TASK, "client");
	at(4);
	thrum_task_switch(client);
	reply = TASK(REQUEST, "reply");
	thrum_task_wait(client, reply);
	idle_until(10);
	thrum_task_switch(poll);
	thrum_task_resolve(reply);
	at(11);
	thrum_task_switch(hog);
	for (unsigned ms = 15; ms < 900; ms += 4) {
		at(ms);
		if (broken)
			continue;
		if (ms == 15)
			answer();
		else
			thrum_task_switch(poll);
		thrum_task_switch(hog);
	}
	at(900);
	thrum_task_resolve(hog);
	if (broken)
		answer();
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(2000);
}
