/* SPDX-License-Identifier: ISC */
/* What the files of comparing share. */
#ifndef ANALYSE_DIFF_PARTS_H
#define ANALYSE_DIFF_PARTS_H

#include "analyse/diff/diff.h"
#include "analyse/slow/path.h"
#include "base/sort.h"

/* The first of what happened to a task that others wait for. */
struct thrum__diff_moment {
	int64_t time; /* OPEN: never */
	uint32_t by;
};

/* A recording, by task; `count` of them. */
struct thrum__aligned {
	const struct thrum__model *model;
	uint32_t count;
	uint32_t *group; /* NONE: unlabelled */
	uint32_t *above; /* the nearest labelled creator, or NONE */
	int64_t *named;  /* when its first label came */
	bool *is_later;  /* it is what another of the same group became */
	struct thrum__diff_moment *waited, *signalled;
	struct thrum__base_sort_item *items; /* the labelled tasks by group */
	struct thrum__base_sort_item *room;  /* for twice as many; anybody's within one function */
	uint32_t labelled;
};

/* Puts both recordings' tasks into groups. Returns 0 or -THRUM_E_MEMORY; `aligned` is to be freed
 * in either case. */
THRUM__MUST_USE int thrum__diff_align(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);
void thrum__diff_aligned_free(struct thrum__aligned *);

/* When each condition was first waited for, and signalled: fills waited and signalled. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__diff_moments(struct thrum__aligned *);

/* Adds a difference, of whose sides the examples are unset; NULL: there is no memory (`failed` is
 * set), or there are very many already. */
struct thrum__difference *thrum__diff_add(struct thrum__comparison *, int kind, uint32_t group,
	bool *failed);

/* Whether BAD's share is greater than GOOD's by more than chance; or, if `few` may tell, GOOD is of
 * few and has none, or most of BAD's are. */
bool thrum__diff_share_differs(const struct thrum__difference_side side[THRUM__SIDES], bool few);

/* Of a group that one recording hasn't: whether both have its kind and pattern somewhere. */
bool thrum__diff_group_is_in_both(const struct thrum__comparison *, uint32_t group);

/* Groups whose tasks ended before those of another began, and in BAD didn't. */
THRUM__MUST_USE int thrum__diff_order(struct thrum__comparison *,
	struct thrum__aligned aligned[THRUM__SIDES]);

#endif
