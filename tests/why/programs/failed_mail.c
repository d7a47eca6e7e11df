/* SPDX-License-Identifier: ISC */
/*
 * Three mails are sent at once, and one fails. The sender waits only for the first. The twin waits
 * for all, one after the other, and so reads the failure late.
 */
#include "timetable.h"

static void story(void)
{
	static const char *to[] = {"mail to ann", "mail to bob", "mail to cyd"};
	thrum_task sender = TASK(TASK, "sender"), mail[3];

	at(1);
	thrum_task_switch(sender);
	for (unsigned i = 0; i < 3; i++)
		mail[i] = TASK(PROMISE, to[i]);
	thrum_task_wait(sender, mail[0]);
	idle_until(20);
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_task_fail(mail[1], "no such user");
	at(25);
	thrum_task_resolve(mail[0]);
	thrum_task_resolve(mail[2]);
	thrum_task_switch(sender);
	for (unsigned i = 0; i < (broken ? 1 : 3); i++)
		thrum_task_read(sender, mail[i]);
	thrum_task_resolve(sender);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
}
