/* SPDX-License-Identifier: ISC */
/* A thread serves requests in turn and only records their ends. One takes 140 ms, in the twin 5 ms as
 * always, so that those behind it come late. */
#include "timetable.h"

static thrum_task request[10];

static void server(void)
{
	unsigned now = 10;

	for (unsigned i = 0; i < 10; i++) {
		now += broken && i == 2 ? 140 : 5;
		at(now);
		thrum_task_resolve(request[i]);
	}
	at(400);
}

static void story(void)
{
	char label[32];

	at(10);
	start_lane("server", server);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(label, sizeof(label), i == 2 ? "search %u" : "GET /%u", i);
		request[i] = TASK(TASK, label);
	}
	idle_until(400);
}
