/* SPDX-License-Identifier: ISC */
/*
 * Two lanes have a loop each. A frame blocks its lane until a tile is there, which the other lane
 * makes; but a reload blocks that lane until the size is known, which only the first lane tells. In
 * the twin the reload doesn't block its lane.
 */
#include "timetable.h"

#define ROUNDS 6

static thrum_task tiles[ROUNDS + 1], sizes[ROUNDS + 1];

static void run_and_resolve(const char *label, thrum_task task)
{
	thrum_task step = TASK(TASK, label);

	THRUM_RUN (step)
		thrum_task_resolve(task);
	thrum_task_resolve(step);
}

/* The lane that makes tiles. */
static void make_tiles(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		idle_until(12 + 20 * i);
		run_and_resolve("make a tile", tiles[i]);
	}
	idle_until(205);
	if (broken) {
		thrum_task reload = TASK(TASK, "reload");

		thrum_task_switch(reload);
		thrum_task_wait(reload, sizes[ROUNDS]);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		stay();
	}
	idle_until(215);
	run_and_resolve("make a tile", tiles[ROUNDS]);
}

static void beat(void)
{
	beat_until(2000);
	if (broken)
		killed();
}

static void story(void)
{
	thrum_task frame;

	for (unsigned i = 0; i <= ROUNDS; i++) {
		at(i);
		tiles[i] = TASK(PROMISE, "tile");
		sizes[i] = TASK(PROMISE, "size");
	}
	at(9);
	start_lane("tiles", make_tiles);
	start_lane("beats", beat);
	for (unsigned i = 0; i < ROUNDS; i++) {
		idle_until(10 + 20 * i);
		run_and_resolve("measure", sizes[i]);
	}
	idle_until(210);
	frame = TASK(TASK, "frame");
	thrum_task_switch(frame);
	thrum_task_wait(frame, tiles[ROUNDS]);
	if (broken) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		stay();
	}
	idle_until(216);
	thrum_task_read(frame, tiles[ROUNDS]);
	thrum_task_resolve(frame);
	thrum_task_switch(THRUM_TASK_NONE);
	run_and_resolve("measure", sizes[ROUNDS]);
	beat_until(2000);
}
