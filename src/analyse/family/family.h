/* SPDX-License-Identifier: ISC */
/*
 * Families: for whom tasks work, and the kinds of tasks that a program has.
 *
 * A task's `up` is the task for which it works: the last one that waited for it or for a task that
 * it became or that became it; else the task that became it; else its creator. Nobody owns a lock,
 * a condition, a semaphore, a mailbox or a switch by waiting for it. The owner of a task is the
 * nearest task along `up` that has a label of its own and is no lane's.
 *
 * A line is a labelled task with those that it became: it begins with the first of them and ends
 * with the last. If a task of the same group became it, directly or through tasks without labels,
 * it is part of that one's line. Unlabelled tasks that became it and are the beginning of its life
 * belong to its line (thrum__slow_heads_make).
 *
 * A group has the lines of one pattern of labels (analyse/label.h) and one kind. In programs that
 * give few labels, the groups are call sites instead: see `by_site`.
 */
#ifndef ANALYSE_FAMILY_FAMILY_H
#define ANALYSE_FAMILY_FAMILY_H

#include "analyse/places.h"
#include "base/keys.h"
#include "model/model.h"

#define THRUM__FAMILY_BANDS 24 /* groups that are shown at most */
#define THRUM__FAMILY_FEW 8    /* a group with fewer lines is not shown */

/* How much room a group deserves. */
enum thrum__group_size {
	THRUM__GROUP_LARGE,  /* its tasks should resolve: requests */
	THRUM__GROUP_MIDDLE, /* the rest */
	THRUM__GROUP_SMALL,  /* half of its lines last over a tenth of the trace: clients */
};

struct thrum__group {
	uint32_t sample;   /* the first of its tasks, for its kind and call site */
	uint32_t parent;   /* the group that owns at least half of its lines, or NONE; no circles */
	uint32_t lines;    /* how many */
	uint32_t should;   /* lines that should resolve */
	uint32_t failed;   /* lines that failed */
	uint32_t pending;  /* lines that have not ended */
	int64_t life, ran; /* sums of all lines, in ns; `ran`: see thrum__family_worker */
	uint8_t kind;      /* enum thrum_kind */
	/* From thrum__bands_make on, of the durations of all lines, with the age of pending ones: */
	int64_t median;
	int64_t low, slow; /* 1 % took up to `low` (at least 1), 99 % up to `slow` */
	int64_t longest;   /* at least 1 */
	uint8_t size;      /* enum thrum__group_size */
	bool is_object; /* locks, conditions and so on: it may have a queue, but no lines in sight */
	bool is_outside; /* it waits for the outside: sleeps, reads, connects */
	uint32_t shown;  /* its index in `shown`, or NONE */
	uint32_t depth;  /* shown: how many of its parents are */
};

struct thrum__family {
	const struct thrum__model *model;
	struct thrum__places places;
	/* By place, see places.h: a task or NONE; the last one a group or NONE. A lane's own task has
	 * no owner. */
	uint32_t *up, *owner, *group;
	/* By place, a bit each: it is part of another line of its group, and `owner` is that line's
	 * first task, or an earlier one. */
	uint32_t *continued;
	struct thrum__group *groups;
	uint32_t group_count, group_room;
	struct thrum__base_keys keys; /* by group: the number is private, the text the pattern */
	bool by_site; /* fewer than 1 in 10 runs has an owner: the groups are call sites */
	/* The groups that are shown, from top to bottom: a tree, the siblings by the sums of their
	 * lives. At most THRUM__FAMILY_BANDS. Those that wait for the outside are shown only if there
	 * are no others. */
	uint32_t shown[THRUM__FAMILY_BANDS];
	uint32_t shown_count;
	uint32_t *more; /* the other groups with lines, the biggest first; no objects */
	uint32_t more_count;
};

/*
 * Finds the families and groups of a model. Rows that the model adds later belong to none. Returns 0
 * or -THRUM_E_MEMORY (then there is nothing to finish). O(tasks + edges + runs).
 */
THRUM__MUST_USE int thrum__family_init(struct thrum__family *, const struct thrum__model *);
void thrum__family_finish(struct thrum__family *);

/* A task's up, owner or group, or NONE. Any index is allowed. */
uint32_t thrum__family_up(const struct thrum__family *, uint32_t task);
uint32_t thrum__family_owner(const struct thrum__family *, uint32_t task);
uint32_t thrum__family_group(const struct thrum__family *, uint32_t task);

/* Whether many tasks use the task without owning it: a lock, a condition, a mailbox. */
bool thrum__family_is_shared(const struct thrum__model *, uint32_t task);

/* Whether a line begins with the task. */
bool thrum__family_is_line(const struct thrum__family *, uint32_t task);

/* When a line ends whose last task (thrum__model_heir) is `heir`; OPEN: it is pending. Where the end is
 * overwritten, the last time that is known. */
int64_t thrum__family_end(const struct thrum__model *, uint32_t heir);

/* The line for which a task works: its own, else its owner's; NONE if it has none, or is a lane's
 * own. A run of a task counts for this line alone. */
uint32_t thrum__family_worker(const struct thrum__family *, uint32_t task);

/* The first task of the line to which a task belongs; NONE if it belongs to none. */
uint32_t thrum__family_line(const struct thrum__family *, uint32_t task);

/* The name of a group, without a NUL: the pattern of its labels; by_site, as words/ calls a task of
 * that site: then *size is 0, and thrum__words_kind_and_site(sample) is the name. Valid as long as
 * the family. */
const char *thrum__family_name(const struct thrum__family *, uint32_t group, size_t *size);

/* The group with this name, or NONE. The first one, if several kinds have it. */
uint32_t thrum__family_find(const struct thrum__family *, const char *name, size_t size);

/* Returns about how many bytes the family has allocated. */
size_t thrum__family_memory(const struct thrum__family *);

#endif
