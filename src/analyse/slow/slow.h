/* SPDX-License-Identifier: ISC */
/*
 * Why a task was slow: its critical path, compared with that of a usual task. This is the face of
 * the folder analyse/slow, beside path.h and flame.h:
 *
 *	answer.c  finds a slow task and a usual one and compares them; its face is answer.h
 *	places.c  the same of the waits that begin in a function
 *	slow.c    tasks by how long they took; the comparison of two paths
 *	paced.c   lives of tasks that come at a pace
 *	path.c    the critical path of a task, part by part
 *	pieces.c  what of it is still to be walked
 *	waits.c   the waits of tasks, their ends, and the holders of locks meanwhile
 *	line.c      tasks whose answers come in the order in which they were made
 *	messages.c  the work of another process on a message
 *	lanes.c   what a lane did while a task could have run there
 *	cause.c   the main cause of a path's length
 *	frames.c  the stacks of waiting to which the parts belong
 *	flame.c   many paths as a flame graph
 *
 * Nothing here makes sentences or draws.
 */
#ifndef ANALYSE_SLOW_SLOW_H
#define ANALYSE_SLOW_SLOW_H

#include "analyse/slow/path.h"
#include "base/sort.h"

/* Tasks that ended, the shortest life first. `item` is the task, `key` the ns from its start to the
 * end of the task that it became in the end. */
struct thrum__lives {
	struct thrum__base_sort_item *items;
	uint32_t count;
	/* Private, while they are listed: */
	bool *wanted, *is_later; /* by task */
	uint32_t task;           /* where the next step goes on */
	bool are_marked;
};

/*
 * Lists the tasks whose name is_wanted accepts. A task that another wanted task became is part of
 * that one's life, and not listed; `heads`: see thrum__slow_heads_make. Free *lives with
 * thrum__slow_lives_free. Returns 0 or -THRUM_E_MEMORY. O(n log n) of the tasks.
 */
THRUM__MUST_USE int thrum__slow_lives_make(const struct thrum__model *, const uint32_t *heads,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	struct thrum__lives *);
/* The same in steps, for lives that are all 0 at first. Returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY; the lives are to be freed in any case. */
THRUM__MUST_USE int thrum__slow_lives_list(const struct thrum__model *, const uint32_t *heads,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	struct thrum__lives *);
void thrum__slow_lives_free(struct thrum__lives *);

/* Keeps the tasks whose name has the same pattern (analyse/label.h) as that of `task`. */
void thrum__slow_lives_keep_alike(const struct thrum__model *, struct thrum__lives *,
	uint32_t task);

/* If each task first waited for a timer by which they come at a pace, lets `heads` and the lives begin behind
 * that wait. Returns 0 or -THRUM_E_MEMORY. O(n log n) of the lives. */
THRUM__MUST_USE int thrum__slow_lives_pace(const struct thrum__model *, uint32_t *heads,
	struct thrum__lives *);

/* The task at a percentile of the lives, by the nearest rank. There must be at least one task. */
const struct thrum__base_sort_item *thrum__slow_lives_at(const struct thrum__lives *,
	unsigned percent);

/* All parts of a path that belong to one frame and do the same. */
struct thrum__share {
	uint32_t frame;
	uint8_t doing;       /* enum thrum__doing */
	uint32_t stretch;    /* index of the longest part; NONE: only the usual path has any */
	uint32_t count;      /* parts */
	int64_t first;       /* ns from the beginning of the path to that of the first part */
	int64_t time, usual; /* ns that the parts take in the path, and in the usual one */
	struct thrum__doubt doubt; /* of `time` */
};

struct thrum__shares {
	struct thrum__share *shares; /* the biggest first; those of the usual path last */
	uint32_t count, room;
};

/* Compares a path with a usual one. Both must belong to the same struct thrum__paths. Free *shares
 * with thrum__slow_shares_free. Returns 0 or -THRUM_E_MEMORY. O(parts). */
THRUM__MUST_USE int thrum__slow_shares_make(const struct thrum__path *,
	const struct thrum__path *usual, struct thrum__shares *);
void thrum__slow_shares_free(struct thrum__shares *);

#endif
