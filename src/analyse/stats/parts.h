/* SPDX-License-Identifier: ISC */
/* Helpers of the files in analyse/stats, and of analyse/slow and analyse/diff. */
#ifndef ANALYSE_STATS_PARTS_H
#define ANALYSE_STATS_PARTS_H

#include "analyse/stats/stats.h"

/* The ns from one time to another: at least 0, at most INT64_MAX. */
int64_t thrum__stats_time_between(int64_t from, int64_t to);

/* The sum of two durations that aren't negative; at most INT64_MAX. */
int64_t thrum__stats_add_time(int64_t, int64_t);

/* Sets *length to the part of a stretch that counts. Returns whether the stretch reaches into it. */
bool thrum__stats_clip(const struct thrum__stats *, int64_t start, int64_t end, int64_t *length);

/* Adds `one` to the lane's use of this kind with this reason, name or cause (a string). Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stats_add_use(struct thrum__stats *, const struct thrum__lane_use *one,
	uint32_t text);

/* Divides the runs of tallies, and the time of lanes, by whether their threads were on a CPU. Returns
 * 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stats_off_cpu(struct thrum__stats *);

/* Fills in the uses of lanes, and the longest runs. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__stats_lanes(struct thrum__stats *);

#endif
