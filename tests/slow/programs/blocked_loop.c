/* SPDX-License-Identifier: ISC */
/* A loop's timer asks a server in its run, and waits there for the answer, which takes 200 ms, in the twin
 * 1 ms. The thread tells only that it waits for work. A request that is ready meanwhile runs after that. */
#include "timetable.h"

static thrum_task answers, refresh, handle[6];

static unsigned answered(void)
{
	return broken ? 301 : 102;
}

static void run(unsigned number, unsigned until)
{
	thrum_task_switch(handle[number]);
	at(until);
	thrum_task_resolve(handle[number]);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void server(void)
{
	thrum_task look_up;

	idle_until(99);
	look_up = TASK(TASK, "look up");
	thrum_task_switch(look_up);
	at(answered());
	thrum_task_signal(answers, 1);
	thrum_task_resolve(look_up);
	thrum_task_switch(THRUM_TASK_NONE);
	idle_until(400);
}

static void client(void)
{
	for (unsigned i = 0; i < 5; i++) {
		idle_until(10 * i + 1);
		handle[i] = TASK(HANDLE, "handle request");
		thrum_task_ready(handle[i]);
	}
	idle_until(101);
	handle[5] = TASK(HANDLE, "handle request");
	thrum_task_ready(handle[5]);
	idle_until(400);
}

static void story(void)
{
	answers = TASK(STREAM, "answers");
	refresh = TASK(TIMER, "refresh");
	start_lane("server", server);
	start_lane("client", client);
	for (unsigned i = 0; i < 5; i++) {
		idle_until(10 * i + 2);
		run(i, 10 * i + 4);
	}
	idle_until(100);
	thrum_task_switch(refresh);
	thrum_task_wait(refresh, answers);
	idle_until(answered() + 1);
	thrum_task_read(refresh, answers);
	at(answered() + 2);
	thrum_task_resolve(refresh);
	run(5, answered() + 3);
	idle_until(400);
}
