/* SPDX-License-Identifier: ISC */
/*
 * Compares two recordings of one program, a good and a bad one: which tasks come in another order,
 * are missing, never end, fail, or are slower. This is the face of the folder analyse/diff:
 *
 *	align.c  puts the tasks of both recordings into groups
 *	diff.c   compares the groups one by one
 *	order.c  compares orders: signals and waits of conditions, and tasks of the same creator
 *	items.c  compares orders of the tasks of one item, if it goes wrong, and finds steps that some
 *	         items lack
 *	missing.c  finds the one of several tasks that BAD lacks, where something hangs
 *	tail.c   finds the example of a slower group where only its longest lives became longer
 *	sooner.c finds steps that came too soon for a task that goes wrong
 *	counts.c compares how many tasks a group has for each creator, whether they are at the same
 *	         time, and for which groups others wait
 *	main.c   finds by what slower tasks became slower, and the main difference
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

#include "analyse/slow/path.h"
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
	X(ENDS_SOONER, "too soon")            /* `task` ends while `before` goes on */ \
	X(NEVER_ENDS, "never ends") \
	X(FAILS, "fails") \
	X(CANCELLED, "cancelled") \
	X(MISSING, "missing") /* of all, or of some that have the same numbers in their labels */ \
	X(RUNS, "runs")       /* a callback runs that never does in GOOD */ \
	X(SEQUENTIAL, "sequential") /* tasks of the same creator come one after the other */ \
	X(MORE, "more")             /* for each creator, many times as many */ \
	X(USES, "uses")             /* tasks wait for, read or lock those of `other_group` */ \
	X(UNUSED, "unused")         /* they don't any more */ \
	X(SLOWER, "slower") \
	X(ADDED, "added") \
	X(LESS, "less") \
	X(PARALLEL, "parallel") \
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
	uint32_t task; /* an example, or NONE */
	/* ENDS_LATER: the task that ends before `task` begins, or should. ENDS_SOONER: the one that ends
	 * before `task` does, or should. */
	uint32_t before;
	/* The times that prove it, or -1. SIGNAL_FIRST, NO_SIGNAL: of the signal and of the wait.
	 * ENDS_LATER: the end of `before` (OPEN: it has none) and the start of `task`. ENDS_SOONER:
	 * that end and the end of `task`. Else the start and the end of `task`. */
	int64_t first, second;
	uint32_t by[2];     /* SIGNAL_FIRST, NO_SIGNAL: the tasks that signal and wait, or NONE */
	uint32_t count, of; /* it is true of `count` tasks out of `of` */
	int64_t p50, p90;   /* SLOWER, FASTER: percentiles of the lives, in ns */
	int64_t longest;    /* SLOWER, FASTER: the longest life, in ns */
};

struct thrum__difference {
	uint8_t kind; /* enum thrum__difference_kind */
	uint32_t group;
	/* ENDS_LATER, ENDS_SOONER: the group of `before`. MISSING: the group that is followed in GOOD, and
	 * in BAD not always; NONE: BAD has nothing of `group`, or (count < of) lacks one of several. USES,
	 * UNUSED: the group that is used. MORE, LESS, SEQUENTIAL, PARALLEL: the group of the creators, or
	 * NONE. Else NONE. */
	uint32_t other_group;
	int64_t time;    /* when it shows in BAD; MISSING: when the task comes in GOOD */
	unsigned longer; /* SLOWER, FASTER: percent of pairs in which BAD's task took longer */
	bool is_few;     /* SLOWER: only the slowest task, or too few for a test of chance */
	/* SLOWER: the examples are so many percent along the lives, as most of the additional time is that of
	 * the longest ones; 0: they are the medians, or with is_few the slowest one. */
	unsigned percentile;
	bool is_one; /* SLOWER: a single task out of many took that much longer */
	/* SLOWER: ns that BAD's tasks took in addition, all together; and the greatest change between
	 * the paths of the two examples: its frame in paths[BAD] or NONE, what its task does (enum
	 * thrum__doing), an example of the task that did so or had the lane, and its ns. */
	int64_t extra;
	uint32_t by_frame, by_task;
	uint8_t by_doing;
	const struct thrum_trace_site *by_site; /* where BAD's example waits so, or NULL */
	int64_t by_time[THRUM__SIDES];
	int64_t weight;   /* private: the ns that it explains */
	uint8_t explains; /* percent of what the tasks of `slowest` took more; 0: not known */
	struct thrum__difference_side side[THRUM__SIDES];
};

struct thrum__comparison {
	const struct thrum__model *model[THRUM__SIDES];
	struct thrum__difference *differences; /* by kind, and within a kind by time */
	uint32_t count, room;
	uint32_t first;   /* the main difference, as an index, or NONE */
	uint32_t slowest; /* the SLOWER with the most additional time, as an index, or NONE */
	bool is_kin;      /* no labels in common: groups are of a kind and a function */
	/* For the frames of by_frame. Empty if no task is slower. */
	struct thrum__paths paths[THRUM__SIDES];
	uint32_t common;              /* groups that both recordings have */
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
