/* SPDX-License-Identifier: ISC */
/*
 * Flame graphs of waiting: the paths of many tasks as one tree of boxes, as wide as the time that
 * they took. A box lies below another if tasks of the upper one waited for tasks of the lower one.
 * Unlike in a profiler's flame graph, the stacks are not those of calls.
 */
#ifndef ANALYSE_SLOW_FLAME_H
#define ANALYSE_SLOW_FLAME_H

#include "analyse/slow/slow.h"

/* A frame, or the time in which its tasks ran. */
struct thrum__flame_box {
	uint32_t frame;
	uint8_t doing; /* RUNS: the time in which the frame's tasks ran. Else that of `self` */
	uint32_t depth;
	int64_t from, time; /* ns: the box's left edge between 0 and `total`, and its width */
	int64_t self;       /* ns of `time` that no box below it has */
};

struct thrum__flame {
	struct thrum__flame_box *boxes; /* by depth; below the same parent, by name */
	uint32_t count;
	uint32_t depth;     /* of the deepest box */
	uint32_t tasks, of; /* how many tasks were added up, of how many */
	int64_t total;      /* ns */
};

/* The most tasks that are added up. If there are more, one out of each 2, 3, … is taken. */
#define THRUM__FLAME_TASKS 20000

/* Adds up the paths of all lives. Free *flame with thrum__slow_flame_free. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_flame_make(struct thrum__paths *, const struct thrum__lives *,
	struct thrum__flame *);
/* The same in steps. `begin` returns NULL without memory. `go_on` returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY. `end` gives the flame, unless that is NULL, and frees the work, which may be NULL. */
struct thrum__flame_work;
struct thrum__flame_work *thrum__slow_flame_begin(struct thrum__paths *,
	const struct thrum__lives *);
THRUM__MUST_USE int thrum__slow_flame_go_on(struct thrum__flame_work *);
void thrum__slow_flame_end(struct thrum__flame_work *, struct thrum__flame *);
void thrum__slow_flame_free(struct thrum__flame *);

#endif
