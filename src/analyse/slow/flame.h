/* SPDX-License-Identifier: ISC */
/*
 * Many paths on one pile: what tasks of a label waited for, and what that waited for in turn, by
 * time. Unlike a profile's, its stacks are those of waiting, not of calling.
 */
#ifndef ANALYSE_SLOW_FLAME_H
#define ANALYSE_SLOW_FLAME_H

#include "analyse/slow/slow.h"

/* One frame of the pile, or the time in which it ran itself. */
struct thrum__flame_box {
	uint32_t frame;
	uint8_t doing; /* RUNS: the part in which the frame ran; else what the frame's own time is
			*/
	uint32_t depth;
	int64_t from, time; /* where on the pile, 0 … total */
	int64_t self;       /* of `time`, what no box below it has */
};

struct thrum__flame {
	struct thrum__flame_box *boxes; /* by depth; within one by name, below their parents */
	uint32_t count;
	uint32_t depth;     /* of the deepest box */
	uint32_t tasks, of; /* how many were piled up, of how many */
	int64_t total;
};

/* The most tasks that are piled up; of more, every so manyth. */
#define THRUM__FLAME_TASKS 20000

/* Piles up the paths of all lives. *flame is to be freed with thrum__slow_flame_free. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_flame_make(struct thrum__paths *, const struct thrum__lives *,
	struct thrum__flame *);
void thrum__slow_flame_free(struct thrum__flame *);

#endif
