/* SPDX-License-Identifier: ISC */
/*
 * Answers take 5 ms. Then a parser loops for ever, in the loop's own lane, so that the client gets
 * no more answers. Only another lane shows that time goes on. In the twin nobody waits while the
 * parser runs, for as long.
 */
#include "timetable.h"

static void beat(void)
{
	beat_until(3000);
	killed();
}

static void ask(thrum_task client, unsigned i, bool is_answered)
{
	char label[32];
	thrum_task answer;

	snprintf(label, sizeof(label), "answer %u", i);
	thrum_task_switch(client);
	answer = TASK(REQUEST, label);
	thrum_task_wait(client, answer);
	if (!is_answered)
		return;
	idle_until(15 + 10 * i);
	thrum_task_resolve(answer);
	thrum_task_read(client, answer);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	thrum_task client = TASK(TASK, "client"), parser = TASK(TASK, "parser");

	start_lane("beat", beat);
	for (unsigned i = 0; i < 20; i++) {
		at(10 + 10 * i);
		ask(client, i, true);
	}
	at(220);
	if (broken)
		ask(client, 20, false);
	thrum_task_switch(parser);
	stay();
}
