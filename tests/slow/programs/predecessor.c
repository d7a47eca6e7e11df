/* SPDX-License-Identifier: ISC */
/* Pictures are decoded, then encoded. To decode the fifth takes 120 ms more, in the twin not. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 7; i++) {
		thrum_task decode, encode;

		at(now);
		snprintf(label, sizeof(label), "decode %u", i);
		decode = TASK(TASK, label);
		snprintf(label, sizeof(label), "encode %u", i);
		encode = TASK_WAITING(TASK, label, decode);
		thrum_task_switch(decode);
		at(now += broken && i == 5 ? 125 : 5);
		thrum_task_resolve(decode);
		thrum_task_switch(encode);
		thrum_task_read(encode, decode);
		at(now += 5);
		thrum_task_resolve(encode);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
