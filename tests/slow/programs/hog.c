/* SPDX-License-Identifier: ISC */
/* Clients wait for replies that come after 5 ms. When the fifth one comes, the lane resizes an image
 * for 150 ms, in the twin for 2 ms. */
#include "timetable.h"

static void story(void)
{
	unsigned now = 10;
	char label[16];

	for (unsigned i = 0; i < 8; i++) {
		thrum_task client, reply, image;

		snprintf(label, sizeof(label), "client %u", i);
		client = TASK(TASK, label);
		thrum_task_switch(client);
		reply = TASK(REQUEST, "reply");
		thrum_task_wait(client, reply);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += 5);
		thrum_task_resolve(reply);
		if (i == 5) {
			image = TASK(TASK, "resize image");
			thrum_task_switch(image);
			at(now += broken ? 150 : 2);
			thrum_task_resolve(image);
		}
		thrum_task_switch(client);
		thrum_task_read(client, reply);
		thrum_task_resolve(client);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(400);
}
