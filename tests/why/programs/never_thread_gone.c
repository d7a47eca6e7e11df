/* SPDX-License-Identifier: ISC */
/*
 * A thread should decode a frame for the player, but ends before. In the twin it decodes it late.
 */
#include "timetable.h"

static thrum_task frame;

static void decode(void)
{
	thrum_task decoder = TASK(TASK, "decoder");

	thrum_task_switch(decoder);
	frame = TASK(PROMISE, "frame");
	thrum_task_should_resolve(frame);
	at(40);
	if (!broken)
		thrum_task_resolve(frame);
	thrum_task_resolve(decoder);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task player = TASK(FIBER, "player");

	start_lane("decoder lane", decode);
	at(15);
	thrum_task_switch(player);
	thrum_task_wait(player, frame);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	at(41);
	thrum_resume();
	if (!broken) {
		thrum_task_read(player, frame);
		thrum_task_resolve(player);
	}
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(2000);
	if (broken)
		abort();
}
