/* SPDX-License-Identifier: ISC */
/* A loop answers by files that libuv's pool reads. Before the last answer, works keep all four threads of the
 * pool for 200 ms; in the twin, for 1 ms. They read the disk for most of that. */
#include "timetable.h"

THRUM_TAG(disk, NULL, "read the disk", 0);

static thrum_task thumbnail[4];

static void run_work(unsigned i)
{
	idle_until(100 + i);
	thrum_task_switch(thumbnail[i]);
	thrum_suspend(&disk);
	at((broken ? 299 : 103) + i);
	thrum_resume();
	at((broken ? 300 : 104) + i);
	thrum_task_switch(THRUM_TASK_NONE);
	idle_until(400);
}

static void first(void)
{
	run_work(0);
}

static void second(void)
{
	run_work(1);
}

static void third(void)
{
	run_work(2);
}

static void fourth(void)
{
	run_work(3);
}

static void answer(unsigned number, unsigned until)
{
	char label[16];
	thrum_task file, get;

	snprintf(label, sizeof label, "GET /%u", number);
	file = thrum_task_create(THRUM_KIND_REQUEST, "file load index.html");
	get = TASK_WAITING(BIND, label, file);
	idle_until(until);
	thrum_task_switch(file);
	thrum_task_resolve(file);
	thrum_task_switch(get);
	thrum_task_read(get, file);
	thrum_task_resolve(get);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	static void (*const threads[])(void) = {first, second, third, fourth};
	char label[16];

	for (unsigned i = 0; i < 4; i++)
		start_lane("pool", threads[i]);
	for (unsigned i = 0; i < 5; i++) {
		idle_until(10 * i);
		answer(i, 10 * i + 2);
	}
	idle_until(98);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(label, sizeof label, "thumbnail %u", i);
		thumbnail[i] = TASK(REQUEST, label);
		thrum_task_ready(thumbnail[i]);
	}
	idle_until(106);
	answer(5, broken ? 302 : 108);
	idle_until(310);
	for (unsigned i = 0; i < 4; i++)
		thrum_task_resolve(thumbnail[i]);
	idle_until(400);
}
