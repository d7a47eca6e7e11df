/* SPDX-License-Identifier: ISC */
/*
 * Lanes that are blocked, and the tasks that are left to them. A task that waits in the middle of a
 * run keeps its lane from running others. If a pending task waits for nothing, and all tasks like
 * it were run or ended on lanes that are blocked so, nobody else may be there to end it. Private to
 * analyse/why.
 */
#ifndef ANALYSE_WHY_LANES_H
#define ANALYSE_WHY_LANES_H

#include "analyse/why/parts.h"

#define THRUM__CARRIERS_MAX 16

/* A task that is left to lanes. */
struct thrum__why_left {
	uint32_t task;
	uint32_t wanted; /* the condition that the task is to signal; or the task itself */
	uint32_t lanes[THRUM__CARRIERS_MAX];
	uint32_t count;
	/* No tasks like it have ended: it was made on one of these lanes, and they alone ran tasks
	 * of its kind. */
	bool is_weak;
};

struct thrum__why_lanes {
	/* By lane: the task that keeps it while it waits; NONE: the lane isn't blocked. */
	uint32_t *blocker;
	uint32_t blocked;             /* lanes that are blocked */
	struct thrum__why_left *left; /* from 1 on; only those all of whose lanes are blocked */
	uint32_t left_count, left_room;
	uint32_t *number; /* by place of tasks: index in `left`, or 0; NULL: no lane is blocked */
};

/* Finds the blocked lanes, and the tasks that others wait for and that are left to these. Returns 0
 * or -THRUM_E_MEMORY. Free with thrum__why_lanes_free. O(lanes), and if some are blocked, O(tasks +
 * waits). */
THRUM__MUST_USE int thrum__why_lanes_make(const struct thrum__search *, struct thrum__why_lanes *);
void thrum__why_lanes_free(struct thrum__why_lanes *);

/* The task that a thread asked a loop to run, if the thread waits for a condition that this task is to
 * signal, as those like it did. Sets *is_weak to whether few of them prove that. NONE: there is none
 * (asked.c). */
uint32_t thrum__why_asked(const struct thrum__search *, const struct thrum__analyse_list *,
	bool *is_weak);

/* The task that keeps a lane: its last act was to wait, and nothing else ran since. NONE: the lane isn't
 * blocked. */
uint32_t thrum__why_blocker_of(const struct thrum__search *, uint32_t lane);
/* The request about a file that none of libuv's threads can begin, if works that wait for such requests have
 * them all, as the caller knows; or NONE (behind.c). O(tasks + edges of the objects). */
uint32_t thrum__why_file_behind(const struct thrum__search *, const uint32_t *works,
	uint32_t count);
/* The task for which a lane is blocked in a wait with a time limit; NONE: it isn't. */
uint32_t thrum__why_timed_task(const struct thrum__model *, uint32_t lane);

#endif
