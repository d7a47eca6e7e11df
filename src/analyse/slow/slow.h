/* SPDX-License-Identifier: ISC */
/* Why one task was slow: its path beside that of a usual one. */
#ifndef ANALYSE_SLOW_SLOW_H
#define ANALYSE_SLOW_SLOW_H

#include "analyse/slow/path.h"
#include "base/sort.h"

/* Tasks that ended, by how long they took, with all that they became: the shortest first. `item` is
 * the task, `key` its time in ns. */
struct thrum__lives {
	struct thrum__base_sort_item *items;
	uint32_t count;
};

/*
 * Those whose name is wanted. What another wanted one became is a part of that. *lives is to be
 * freed with thrum__slow_lives_free. Returns 0 or -THRUM_E_MEMORY. O(n log n).
 */
THRUM__MUST_USE int thrum__slow_lives_make(const struct thrum__model *,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	struct thrum__lives *);
void thrum__slow_lives_free(struct thrum__lives *);

/* Keeps those whose name has the same pattern as that of a task. */
void thrum__slow_lives_keep_alike(const struct thrum__model *, struct thrum__lives *,
	uint32_t task);

/* The one that at least so many percent don't exceed (nearest rank); count must not be 0. */
const struct thrum__base_sort_item *thrum__slow_lives_at(const struct thrum__lives *,
	unsigned percent);

/* All that one path spent on the same: frame and doing. */
struct thrum__share {
	uint32_t frame;
	uint8_t doing;
	uint32_t stretch; /* the longest; NONE: only the usual one has any */
	uint32_t count;   /* stretches */
	int64_t first;    /* when its first begins, from the path's beginning on */
	int64_t time, usual;
};

struct thrum__shares {
	struct thrum__share *shares; /* in the order of their first stretches */
	uint32_t count, room;
};

/* Compares a path with a usual one of the same thrum__paths. *shares is to be freed with
 * thrum__slow_shares_free. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_shares_make(const struct thrum__path *,
	const struct thrum__path *usual, struct thrum__shares *);
void thrum__slow_shares_free(struct thrum__shares *);

#endif
