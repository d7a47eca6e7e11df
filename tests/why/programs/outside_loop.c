/* SPDX-License-Identifier: ISC */
/*
 * An event loop asks a backend in the midst of its turn, ten times with an answer after 1 ms. The
 * eleventh time it gets none, and serves nobody any more. A thread beside it that reads since the
 * beginning is no fault.
 */
#include "timetable.h"

THRUM_TAG(blocked, NULL, "blocked by the outside", 0);

static void read_terminal(void)
{
	thrum_task line = TASK(HANDLE, "read from terminal");

	thrum_task_wait(thrum_task_current(), line);
	thrum_suspend(&blocked);
	if (broken)
		stay();
	at(4500);
	thrum_resume();
	thrum_task_resolve(line);
	thrum_task_read(thrum_task_current(), line);
}

static void beats(void)
{
	beat_until(4000);
	if (broken)
		killed();
}

static void turn(unsigned when, bool is_answered)
{
	thrum_task answer;

	idle_until(when);
	answer = TASK(HANDLE, "read from backend");
	thrum_task_wait(thrum_task_current(), answer);
	thrum_suspend(&blocked);
	if (!is_answered)
		stay();
	at(when + 1);
	thrum_resume();
	thrum_task_resolve(answer);
	thrum_task_read(thrum_task_current(), answer);
}

static void story(void)
{
	start_lane("terminal", read_terminal);
	start_lane("beats", beats);
	for (unsigned i = 0; i < 10; i++)
		turn(10 + 10 * i, true);
	turn(110, !broken);
	idle_until(5000);
}
