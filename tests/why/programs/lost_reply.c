/* SPDX-License-Identifier: ISC */
/*
 * A client sends a request, and waits for the reply once the request is sent. The reply comes
 * before that, and a condition remembers no signals. The twin waits before it sends.
 */
#include "timetable.h"

static thrum_task client, reply;

static void wait_for_reply(void)
{
	thrum_task_switch(client);
	thrum_task_wait(client, reply);
}

static void story(void)
{
	thrum_task card = TASK(HANDLE, "card"), sent;

	client = TASK(TASK, "client");
	reply = TASK(CONDITION, "reply");
	thrum_task_should_resolve(client);
	at(1);
	thrum_task_switch(client);
	sent = TASK(REQUEST, "send");
	if (broken)
		thrum_task_wait(client, sent);
	else
		wait_for_reply();
	idle_until(3);
	thrum_task_switch(card);
	thrum_task_signal(reply, broken ? 0 : 1);
	at(5);
	thrum_task_resolve(sent);
	thrum_task_switch(client);
	if (broken) {
		thrum_task_read(client, sent);
		wait_for_reply();
	} else {
		thrum_task_read(client, reply);
		thrum_task_resolve(client);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(5000);
	if (broken)
		killed();
}
