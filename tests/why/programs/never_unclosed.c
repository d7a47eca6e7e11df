/* SPDX-License-Identifier: ISC */
/*
 * A server opens its socket anew, as its settings changed, and forgets the old one. At its end it closes all
 * that it knows, and its loop goes on for the old socket. In the twin that is closed when it is replaced.
 */
#include "timetable.h"

#define PACKETS 6

static thrum_task open_socket(void)
{
	return TASK(HANDLE, "packets");
}

static void take(thrum_task handle)
{
	thrum_task_switch(handle);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void close_handle(thrum_task handle)
{
	thrum_task_switch(handle);
	thrum_task_resolve(handle);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task socket = open_socket(), old = socket;
	thrum_task reload = TASK(HANDLE, "reload"), stop = TASK(HANDLE, "stop"),
		   watch = TASK(HANDLE, "watch of the settings");

	for (unsigned i = 1; i <= PACKETS; i++) {
		at(20 * i);
		if (i == PACKETS / 2) {
			thrum_task_switch(reload);
			socket = open_socket();
			thrum_task_switch(THRUM_TASK_NONE);
			if (!broken)
				close_handle(old);
		}
		take(socket);
		take(watch);
	}
	at(140);
	take(stop);
	close_handle(reload);
	close_handle(stop);
	close_handle(watch);
	close_handle(socket);
	at(2000);
	if (broken) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		killed();
	}
}
