/* SPDX-License-Identifier: ISC */
/* The interfaces between the files of analyse/diff. Private to that folder. */
#ifndef ANALYSE_DIFF_PARTS_H
#define ANALYSE_DIFF_PARTS_H

#include "analyse/diff/diff.h"
#include "analyse/slow/path.h"
#include "base/sort.h"

/* The first wait for a task, or its first signal. */
struct thrum__diff_moment {
	int64_t time; /* OPEN: never */
	uint32_t by;  /* the task that waits or signals */
};

/* The tasks of a recording. The arrays are by task; `count` tasks. */
struct thrum__aligned {
	const struct thrum__model *model;
	uint32_t count;
	uint32_t *group; /* NONE: unlabelled */
	uint32_t *label; /* string: the first label, or NONE */
	uint32_t *above; /* the nearest labelled creator, or NONE */
	int64_t *named;  /* the time of the first label */
	bool *is_later;  /* another task of the same group became this one */
	struct thrum__diff_moment *waited, *signalled;
	/* Not by task: */
	struct thrum__base_sort_item *items; /* the labelled tasks by group, without later ones */
	struct thrum__base_sort_item *room;  /* scratch for twice as many, within one function */
	uint32_t labelled;                   /* how many items */
};

/* Puts the tasks of both recordings into groups. Returns 0 or -THRUM_E_MEMORY. Free each of
 * `aligned` with thrum__diff_aligned_free in either case. */
THRUM__MUST_USE int thrum__diff_align(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);
void thrum__diff_aligned_free(struct thrum__aligned *);

/* The order of the starts of a model's tasks, for thrum__base_sort. */
int thrum__diff_compare_starts(const void *model, uint32_t a, uint32_t b);

/* Finds when each task was first waited for and first signalled: fills in `waited` and `signalled`.
 * Returns 0 or -THRUM_E_MEMORY. O(tasks + edges). */
THRUM__MUST_USE int thrum__diff_moments(struct thrum__aligned *);

/* Adds a difference whose sides have no examples yet. Returns NULL if there is no memory (and sets
 * *failed), or if there are too many differences already. Valid until the next call. */
struct thrum__difference *thrum__diff_add(struct thrum__comparison *, int kind, uint32_t group,
	bool *failed);

/* Whether the share count / of is greater in BAD than in GOOD by more than chance. With `few`,
 * a greater share also counts if GOOD's is 0, and GOOD has few tasks or BAD's share is a half
 * or more. */
bool thrum__diff_share_differs(const struct thrum__difference_side side[THRUM__SIDES], bool few);

/* For a group that only one recording has: whether both have its kind and pattern anywhere. */
bool thrum__diff_group_is_in_both(const struct thrum__comparison *, uint32_t group);

/* Adds differences ENDS_LATER: groups whose tasks ended before those of another began in GOOD, but
 * not in BAD. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_order(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);

/* Whether a task is a step that comes before or after others. A join does nothing itself: its place in the
 * order is that of those for which it waits. Nor does an object, and a thread runs the steps of others. */
bool thrum__diff_is_step(const struct thrum__model *, uint32_t task);

/* Whether `before` caused `task`: the creator of `task` had the result of `before`, or is it. */
bool thrum__diff_is_caused(const struct thrum__model *, uint32_t before, uint32_t task);

/* Adds differences ENDS_LATER: the tasks of an item, whose labels have the same numbers, came one
 * after the other in GOOD, for this item and for others; in BAD they didn't, for an item that goes wrong, or
 * one in which the one caused the other in GOOD. Asks the differences that there are what goes wrong. And
 * adds differences MISSING: a step came after another one for each item in GOOD, and is left out for some in
 * BAD. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_items(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);

/* Adds differences MISSING: of several tasks alike, each with its own name, BAD lacks one, and all others
 * that it has ended long before its end. Asks the differences that there are whether anything hangs. Returns
 * 0 or -THRUM_E_MEMORY. O(tasks). */
THRUM__MUST_USE int thrum__diff_missing(struct thrum__comparison *,
	const struct thrum__aligned aligned[THRUM__SIDES]);

/* Adds differences ENDS_SOONER: of a task that fails, or for which a new one comes. Asks the differences that
 * there are. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_sooner(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);

/* The group of those that signal a condition in GOOD, if the difference is that nobody does in BAD; else
 * NONE. */
uint32_t thrum__diff_signallers(const struct thrum__difference *,
	const struct thrum__aligned aligned[THRUM__SIDES]);
/* Adds differences CANCELLED of such groups. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_unsignalled(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);
/* Whether there is a difference of this kind and group. Sets *index to its place. */
bool thrum__diff_has(const struct thrum__comparison *, int kind, uint32_t group, uint32_t *index);

/* Lives of tasks that ended, the shortest first: `item` is the task, `key` the ns. */
struct thrum__diff_lives {
	const struct thrum__base_sort_item *items;
	size_t count;
};

/* Whether most of what BAD's tasks took longer is that of a few of them. Sets tasks[] to an example of these
 * and to the task of GOOD that has the same place among the lives there, and *percent to how many tasks are
 * shorter. There must be lives. O(lives). */
bool thrum__diff_tail(const struct thrum__diff_lives lives[THRUM__SIDES],
	uint32_t tasks[THRUM__SIDES], unsigned *percent);

/* The longest time for which a task waited for a lock, in ns. */
int64_t thrum__diff_longest_wait(const struct thrum__model *, uint32_t lock);

/* Adds differences SEQUENTIAL, PARALLEL, MORE, LESS, USES and UNUSED. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_counts(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);

/* Finds by what slower tasks became slower, and chooses the main difference of those in their final
 * order. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_main(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);

#endif
