/* SPDX-License-Identifier: ISC */
/*
 * Letters go out, each as its own task, and one bounces: a letter abroad, which is created elsewhere in
 * the function. The sender reads how those at home went. The twin's sender asks after none.
 */
#include "timetable.h"

#define LETTERS 6
#define ABROAD 4

static thrum_task create_letter(unsigned number)
{
	static const char *const labels[LETTERS] = {"letter to ann", "letter to bob",
		"letter to cyd", "letter to dan", "letter to eve", "letter to fay"};

	if (number == ABROAD)
		return TASK(TASK, labels[number]);
	return TASK(TASK, labels[number]);
}

static void story(void)
{
	thrum_task sender = TASK(TASK, "sender"), letters[LETTERS];

	at(1);
	thrum_task_switch(sender);
	for (unsigned i = 0; i < LETTERS; i++)
		letters[i] = create_letter(i);
	at(4);
	if (broken)
		thrum_task_wait(sender, letters[0]);
	idle_until(20);
	thrum_task_switch(THRUM_TASK_NONE);
	for (unsigned i = 0; i < LETTERS; i++) {
		if (i == ABROAD)
			thrum_task_fail(letters[i], "no such country");
		else
			thrum_task_resolve(letters[i]);
	}
	at(25);
	thrum_task_switch(sender);
	for (unsigned i = 0; i < LETTERS; i++)
		if (broken && i != ABROAD)
			thrum_task_read(sender, letters[i]);
	thrum_task_resolve(sender);
	thrum_task_switch(THRUM_TASK_NONE);
	beat_until(1000);
}
