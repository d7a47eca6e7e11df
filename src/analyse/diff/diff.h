/* SPDX-License-Identifier: ISC */
/*
 * Compares two recordings of one program, a good and a bad one: where they part in order, what is
 * missing, what never ends or fails, what is slower. Labelled tasks are aligned by their structure:
 * those of one kind and first label's pattern (analyse/label.h) below the same labelled creators
 * are a group. Where a group has no counterpart, its tasks are aligned by kind and pattern alone.
 *
 * A group says something only by all its tasks: how many of how many, or how their times spread.
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

/* X(NAME, word). What is the worst comes first. */
#define THRUM__DIFFERENCES(X) \
	X(SIGNAL_FIRST, "signal before wait") /* of a condition */ \
	X(NO_SIGNAL, "no signal")             /* of a condition that is waited for */ \
	X(ENDS_LATER, "order")                /* `before` ended before it began; in BAD not */ \
	X(NEVER_ENDS, "never ends") \
	X(FAILS, "fails") \
	X(CANCELLED, "cancelled") \
	X(MISSING, "missing") /* in BAD */ \
	X(SLOWER, "slower") \
	X(ADDED, "added") /* in BAD */ \
	X(FASTER, "faster")

enum thrum__difference_kind {
#define THRUM__X(NAME, word) THRUM__DIFFERENCE_##NAME,
	THRUM__DIFFERENCES(THRUM__X)
#undef THRUM__X
	THRUM__DIFFERENCE_KINDS,
};

const char *thrum__diff_name(int kind);

/* One recording's part of a difference. */
struct thrum__difference_side {
	uint32_t task;   /* an example, or NONE */
	uint32_t before; /* ENDS_LATER: the one that ends before `task` begins, or should */
	/* The moments that prove it, or -1. SIGNAL_FIRST, NO_SIGNAL: of the signal and of the wait;
	 * ENDS_LATER: when `before` ends (OPEN: never) and `task` begins; else when `task` begins
	 * and ends. */
	int64_t first, second;
	uint32_t by[2];     /* SIGNAL_FIRST, NO_SIGNAL: who signals, who waits; or NONE */
	uint32_t count, of; /* it is so with so many of how many */
	int64_t p50, p90;   /* SLOWER, FASTER: of the times that tasks took */
};

struct thrum__difference {
	uint8_t kind;
	uint32_t group;
	uint32_t other_group; /* ENDS_LATER: of `before` */
	int64_t time;         /* in BAD (MISSING: in GOOD), by which they are ordered */
	unsigned longer;      /* SLOWER, FASTER: percent of pairs in which BAD's took longer */
	struct thrum__difference_side side[THRUM__SIDES];
};

struct thrum__comparison {
	const struct thrum__model *model[THRUM__SIDES];
	struct thrum__difference *differences; /* order first, each kind by time */
	uint32_t count, room;
	uint32_t first;  /* the difference in order that comes first in time, or NONE */
	uint32_t common; /* groups that both have */
	uint32_t tasks[THRUM__SIDES]; /* labelled */
	/* By group, its kind and pattern, and in `parents` the group it is below, or NONE. */
	struct thrum__base_keys groups;
	uint32_t *parents;
	uint32_t parent_room;
	uint8_t *in; /* private */
};

/* *comparison is to be freed with thrum__diff_free. Returns 0 or -THRUM_E_MEMORY. O(n log n)
 * of tasks and edges. The models must stay as they are until then. */
THRUM__MUST_USE int thrum__diff_make(const struct thrum__model *good,
	const struct thrum__model *bad, struct thrum__comparison *);
void thrum__diff_free(struct thrum__comparison *);

/* The label pattern of a group. No NUL. */
const char *thrum__diff_group_name(const struct thrum__comparison *, uint32_t group, size_t *size);
/* Its kind's word. */
const char *thrum__diff_group_kind(const struct thrum__comparison *, uint32_t group);

/*
 * Whether the values of b tend to be greater than those of a, by the rank test of Mann and Whitney
 * ("On a test of whether one of two random variables is stochastically larger than the other",
 * 1947), with its normal approximation and the correction for ties. Both sorted. Returns 1 or, when
 * smaller, -1, if chance would do so less than once in 15,000 times; else 0. *longer is the percent
 * of pairs in which b's is greater.
 */
int thrum__diff_rank_test(const int64_t *a, size_t a_count, const int64_t *b, size_t b_count,
	unsigned *longer);

#endif
