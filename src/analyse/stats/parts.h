/* SPDX-License-Identifier: ISC */
/* What the files of stats share. */
#ifndef ANALYSE_STATS_PARTS_H
#define ANALYSE_STATS_PARTS_H

#include "analyse/stats/stats.h"

/* to - from, at least 0 and at most INT64_MAX. */
int64_t thrum__stats_time_between(int64_t from, int64_t to);

/* Of two that aren't negative; at most INT64_MAX. */
int64_t thrum__stats_add_time(int64_t, int64_t);

/* The lanes' uses and the longest runs. */
THRUM__MUST_USE int thrum__stats_lanes(struct thrum__stats *, uint32_t longest);

#endif
