/* SPDX-License-Identifier: ISC */
/*
 * Orders go into a stream that has room for two entries; a writer takes an entry out every 5 ms. The
 * disk then keeps it for 100 ms, in the twin for 5, so that orders wait for room.
 */
#include "timetable.h"

#define ORDERS 8
#define ROOM 2
#define ODD 3 /* the entry that takes long to write */

static thrum_task entries, order[ORDERS];
static unsigned arrived, put, taken;

/* Puts the next order into the stream. */
static void put_order(void)
{
	thrum_task_switch(order[put]);
	thrum_task_signal(entries, 0);
	thrum_task_resolve(order[put++]);
}

static void write_entries(void)
{
	thrum_task writer = TASK(FIBER, "audit writer"), entry;
	unsigned now = 1;

	while (taken < ORDERS) {
		bool is_long = broken && taken == ODD;

		if (taken == put) {
			idle_until(++now);
			continue;
		}
		thrum_task_switch(writer);
		thrum_task_read(writer, entries);
		taken++;
		if (put < arrived) {
			put_order();
			thrum_task_switch(writer);
		}
		entry = TASK(TASK, is_long ? "sync journal" : "append entry");
		thrum_task_wait(writer, entry);
		thrum_task_switch(THRUM_TASK_NONE);
		idle_until(now += is_long ? 100 : 5);
		thrum_task_resolve(entry);
		thrum_task_switch(writer);
		thrum_task_read(writer, entry);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}

static void story(void)
{
	char label[16];

	entries = TASK(STREAM, "entries");
	start_lane("writer", write_entries);
	for (unsigned i = 0; i < ORDERS; i++) {
		idle_until(10 * i);
		snprintf(label, sizeof label, "order %u", i);
		order[i] = TASK(TASK, label);
		arrived++;
		if (put - taken < ROOM)
			put_order();
		else
			thrum_task_wait(order[i], entries);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	idle_until(300);
}
