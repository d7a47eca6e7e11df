/* SPDX-License-Identifier: ISC */
/*
 * A logger takes lines from a mailbox and writes each to a disk, which is a handle. The disk hangs, the
 * mailbox is full, and those who log wait. In the twin the disk goes on.
 */
#include "timetable.h"

static thrum_task lines, disk, logger, client;

static void write_line(unsigned ms)
{
	thrum_task_switch(logger);
	thrum_task_read(logger, lines);
	thrum_task_wait(logger, disk);
	thrum_task_switch(THRUM_TASK_NONE);
	at(ms);
	thrum_task_switch(logger);
	thrum_task_read(logger, disk);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void story(void)
{
	disk = TASK(HANDLE, "disk");
	lines = TASK(MAILBOX, "lines");
	client = TASK(TASK, "client");
	logger = TASK(TASK, "logger");
	for (unsigned i = 0; i < 6; i++) {
		at(10 * i + 5);
		thrum_task_switch(client);
		thrum_task_signal(lines, 0);
		write_line(10 * i + 7);
	}
	at(70);
	thrum_task_switch(client);
	thrum_task_signal(lines, 0);
	thrum_task_switch(logger);
	thrum_task_read(logger, lines);
	thrum_task_wait(logger, disk);
	at(72);
	thrum_task_switch(client);
	thrum_task_wait(client, lines);
	thrum_task_switch(THRUM_TASK_NONE);
	at(80);
	if (!broken) {
		thrum_task_switch(logger);
		thrum_task_read(logger, disk);
		thrum_task_read(logger, lines);
		thrum_task_switch(client);
		thrum_task_resolve(client);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	beat_until(2000);
	killed();
}
