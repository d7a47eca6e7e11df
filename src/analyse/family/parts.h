/* SPDX-License-Identifier: ISC */
/* Private to the folder. */
#ifndef ANALYSE_FAMILY_PARTS_H
#define ANALYSE_FAMILY_PARTS_H

#include "analyse/family/family.h"

/* Adds a time to a sum, which ends at INT64_MAX, as any times may be recorded. */
static inline void thrum__family_add_time(int64_t *sum, int64_t from, int64_t to)
{
	int64_t time;

	if (to <= from)
		return;
	if (__builtin_sub_overflow(to, from, &time) || __builtin_add_overflow(*sum, time, sum))
		*sum = INT64_MAX;
}

/* Counts the groups' lines, makes the tree of the groups, and chooses those that are shown. `served`: by
 * place, the group for whose lines a task works, or NONE. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__family_arrange(struct thrum__family *, const uint32_t *served);

#endif
