/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong: a server stops, and closes all but a connection whose request hasn't come as a whole. A
 * newer connection of the same place is closed with all else.
 */
#include "timetable.h"

static thrum_task accept_one(thrum_task server)
{
	thrum_task connection;

	thrum_task_switch(server);
	connection = TASK(HANDLE, "caller");
	thrum_task_switch(THRUM_TASK_NONE);
	return connection;
}

static void take(thrum_task handle)
{
	thrum_task_switch(handle);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task server = TASK(HANDLE, "server"), stop = TASK(HANDLE, "stop"),
		   reload = TASK(HANDLE, "reload"), old, newer;

	at(20);
	old = accept_one(server);
	for (unsigned i = 0; i < 3; i++) {
		at(30 + 10 * i);
		take(old);
	}
	at(70);
	newer = accept_one(server);
	for (unsigned i = 0; i < 3; i++) {
		at(80 + 10 * i);
		take(newer);
	}
	at(140);
	take(stop);
	thrum_task_resolve(server);
	thrum_task_resolve(stop);
	thrum_task_resolve(reload);
	thrum_task_resolve(newer);
	at(2000);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	killed();
}
