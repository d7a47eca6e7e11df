/* SPDX-License-Identifier: ISC */
/*
 * Compares two recordings of one program, a good and a bad one: which tasks come in another order,
 * are missing, never end, fail, or are slower. This is the face of the folder analyse/diff:
 *
 *	align.c  puts the tasks of both recordings into groups
 *	diff.c   compares the groups one by one
 *	order.c  compares orders: signals and waits of conditions, and tasks of the same creator
 *
 * A group consists of the labelled tasks with the same kind and the same pattern of the first label
 * (analyse/label.h) below the same labelled creators. If only one recording has a group, its tasks
 * join the group of all such tasks with their kind and pattern, whatever their creators are.
 *
 * Groups are compared by numbers of all their tasks: how many of how many, or how their lives are
 * spread. Nothing here makes sentences or draws.
 */
#ifndef ANALYSE_DIFF_DIFF_H
#define ANALYSE_DIFF_DIFF_H

#include "base/keys.h"
#include "model/model.h"

enum thrum__side {
	THRUM__GOOD,
	THRUM__BAD,
	THRUM__SIDES,
};

/* X(NAME, word): the kinds of differences, the worst first. Each is true of BAD, not of GOOD. */
#define THRUM__DIFFERENCES(X) \
	X(SIGNAL_FIRST, "signal before wait") /* of a condition */ \
	X(NO_SIGNAL, "no signal")             /* a condition is waited for, but not signalled */ \
	X(ENDS_LATER, "order")                /* `before` hasn't ended when `task` begins */ \
	X(NEVER_ENDS, "never ends") \
	X(FAILS, "fails") \
	X(CANCELLED, "cancelled") \
	X(MISSING, "missing") \
	X(SLOWER, "slower") \
	X(ADDED, "added") \
	X(FASTER, "faster")

enum thrum__difference_kind {
#define THRUM__X(NAME, word) THRUM__DIFFERENCE_##NAME,
	THRUM__DIFFERENCES(THRUM__X)
#undef THRUM__X
	THRUM__DIFFERENCE_KINDS,
};

/* The word, or "unknown". Static. */
const char *thrum__diff_name(int kind);

/* The part of a difference that one recording shows. */
struct thrum__difference_side {
	uint32_t task;   /* an example, or NONE */
	uint32_t before; /* ENDS_LATER: the task that ends before `task` begins, or should */
	/* The times that prove it, or -1. SIGNAL_FIRST, NO_SIGNAL: of the signal and of the wait.
	 * ENDS_LATER: the end of `before` (OPEN: it has none) and the start of `task`. Else the
	 * start and the end of `task`. */
	int64_t first, second;
	uint32_t by[2];     /* SIGNAL_FIRST, NO_SIGNAL: the tasks that signal and wait, or NONE */
	uint32_t count, of; /* it is true of `count` tasks out of `of` */
	int64_t p50, p90;   /* SLOWER, FASTER: percentiles of the lives, in ns */
};

struct thrum__difference {
	uint8_t kind; /* enum thrum__difference_kind */
	uint32_t group;
	uint32_t other_group; /* ENDS_LATER: the group of `before` */
	int64_t time;         /* when it shows in BAD; MISSING: when the task comes in GOOD */
	unsigned longer;      /* SLOWER, FASTER: percent of pairs in which BAD's task took longer */
	struct thrum__difference_side side[THRUM__SIDES];
};

struct thrum__comparison {
	const struct thrum__model *model[THRUM__SIDES];
	struct thrum__difference *differences; /* by kind, and within a kind by time */
	uint32_t count, room;
	uint32_t first;  /* the earliest SIGNAL_FIRST or ENDS_LATER, as an index, or NONE */
	uint32_t common; /* groups that both recordings have */
	uint32_t tasks[THRUM__SIDES]; /* labelled tasks */
	/* By group: its kind and pattern, and the group of the labelled creator, or NONE. */
	struct thrum__base_keys groups;
	uint32_t *parents;
	uint32_t parent_room;
	uint8_t *in; /* private */
};

/* Compares two models, which must stay as they are until *comparison is freed with
 * thrum__diff_free. Returns 0 or -THRUM_E_MEMORY, with *comparison untouched. O(n log n) of tasks
 * and edges. */
THRUM__MUST_USE int thrum__diff_make(const struct thrum__model *good,
	const struct thrum__model *bad, struct thrum__comparison *);
void thrum__diff_free(struct thrum__comparison *);

/* Whether the recordings can't be compared: neither has a group that the other has. */
bool thrum__diff_has_nothing_in_common(const struct thrum__comparison *);

/* The label pattern of a group, without a NUL. Valid as long as the comparison. */
const char *thrum__diff_group_name(const struct thrum__comparison *, uint32_t group, size_t *size);

/* The word of a group's kind. Static. */
const char *thrum__diff_group_kind(const struct thrum__comparison *, uint32_t group);

/*
 * Returns 1 if the values of b tend to be greater than those of a, -1 if they tend to be smaller, 0
 * if chance would make such a difference more than once in about 15,000 times. This is the rank
 * test of Mann and Whitney ("On a test of whether one of two random variables is stochastically
 * larger than the other", 1947), with its normal approximation and the correction for ties. Both
 * arrays must be sorted. Sets *longer to the percent of pairs in which b's value is greater, where
 * equal values count half; 50 if an array is empty.
 */
int thrum__diff_rank_test(const int64_t *a, size_t a_count, const int64_t *b, size_t b_count,
	unsigned *longer);

#endif
