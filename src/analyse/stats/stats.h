/* SPDX-License-Identifier: ISC */
/*
 * Numbers of a model: how many tasks of each label, kind and call site there are, how they ended,
 * and how long they lived, ran and waited; what lanes did; the longest runs.
 *
 * The measures, in ns:
 * life     of a task that ended (resolved, failed, was cancelled, became another) and whose
 *          beginning is known: its end less its start. What a task became has a life of its own.
 * running  of every task: the sum of its runs, also of those after its end. A run counts to the
 *          task that ran, not to what it became; one that is open ends with the trace.
 * waiting  of what has a life: its life less what it ran within it.
 *
 * Lanes' own tasks, which run when no other does, are left out; the lanes' numbers tell of them.
 * Sums end at INT64_MAX.
 */
#ifndef ANALYSE_STATS_STATS_H
#define ANALYSE_STATS_STATS_H

#include "base/keys.h"
#include "model/model.h"

/* ---- Tasks --------------------------------------------------------------------------------- */

#define THRUM__MEASURES(X) \
	X(LIFE, "life") \
	X(RUNNING, "running") \
	X(WAITING, "waiting")

enum thrum__measure {
#define THRUM__X(NAME, word) THRUM__MEASURE_##NAME,
	THRUM__MEASURES(THRUM__X)
#undef THRUM__X
	THRUM__MEASURE_COUNT,
};

/* The values of one measure. All exact: a percentile is the least value that at least so many
 * percent of the values don't exceed (nearest rank). All 0 when count is 0. */
struct thrum__spread {
	uint64_t count;
	int64_t total, min, mean, p50, p90, p99, max;
};

enum thrum__tally_by {
	THRUM__BY_LABEL, /* and kind; labels that differ only in numbers are one: analyse/label.h */
	THRUM__BY_KIND,
	THRUM__BY_SITE, /* tasks without a call site are in none */
	THRUM__TALLIES,
};

/* Tasks that have something in common. */
struct thrum__tally {
	uint32_t sample;       /* the first of them, for its kind and call site */
	uint32_t tasks, stuck; /* stuck: of the pending ones, by thrum__stats_task_is_stuck */
	uint32_t state[5];     /* by enum thrum__state */
	struct thrum__spread spread[THRUM__MEASURE_COUNT];
};

struct thrum__tallies {
	struct thrum__tally *tallies; /* in the order of their first tasks */
	uint32_t count, room;
	uint32_t *of;                 /* by place: its tally, or NONE */
	struct thrum__base_keys keys; /* by tally: the texts are the labels' patterns */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

/* X(NAME, word) */
#define THRUM__LANE_USES(X) \
	X(RUNNING, "running")     /* a task other than the lane's own */ \
	X(OWN, "own")             /* the lane's own task */ \
	X(SUSPENDED, "suspended") /* by reason */ \
	X(SPAN, "span")           /* by name; spans within spans count for both */ \
	X(GAP, "gap")             /* by cause */

enum thrum__lane_use_kind {
#define THRUM__X(NAME, word) THRUM__LANE_##NAME,
	THRUM__LANE_USES(THRUM__X)
#undef THRUM__X
};

const char *thrum__stats_lane_use_name(int kind);

struct thrum__lane_use {
	uint32_t lane;
	uint8_t kind;
	uint32_t count; /* stretches */
	int64_t total, max;
	uint64_t lost; /* gaps: events */
};

/* ---- All ----------------------------------------------------------------------------------- */

struct thrum__stats {
	const struct thrum__model *model;
	uint32_t task_count;
	uint32_t places, *place;                /* of tasks: thrum__stats_place */
	bool simplify;                          /* lives begin at `start`; else at `created` */
	int64_t *measure[THRUM__MEASURE_COUNT]; /* by place; -1: has none */
	struct thrum__tallies by[THRUM__TALLIES];
	struct thrum__lane_use *uses; /* as they came up */
	uint32_t use_count, use_room;
	struct thrum__base_keys use_keys; /* by use: the texts are reason, name, cause */
	uint32_t *longest; /* runs of tasks other than the lanes' own, the longest first */
	uint32_t longest_count;
};

/*
 * Counts and measures everything; of the longest runs, at most so many. The model must stay as it
 * is until thrum__stats_free. Returns 0 or -THRUM_E_MEMORY (then there is nothing to free). O(runs
 * × log longest + tasks × log tasks + what lanes did).
 */
THRUM__MUST_USE int thrum__stats_make(const struct thrum__model *, bool simplify, uint32_t longest,
	struct thrum__stats *);
void thrum__stats_free(struct thrum__stats *);

/* Blocks of tasks that the model had forgotten have no places; where it has all, it is the task. */
static inline bool thrum__stats_has(const struct thrum__stats *stats, uint32_t task)
{
	return task < stats->task_count && stats->place[task >> THRUM__BLOCK_SHIFT] != THRUM__NONE;
}

static inline uint32_t thrum__stats_place(const struct thrum__stats *stats, uint32_t task)
{
	return stats->place[task >> THRUM__BLOCK_SHIFT] + (task & THRUM__BLOCK_MASK);
}

/* The first task with a place, from this one on; task_count or more: there is none. */
static inline uint32_t thrum__stats_next(const struct thrum__stats *stats, uint32_t task)
{
	while (task < stats->task_count && !thrum__stats_has(stats, task))
		task = (task | THRUM__BLOCK_MASK) + 1;
	return task;
}

/* "preexisting" for what the trace never saw created, else the kind's word. */
const char *thrum__stats_task_kind(const struct thrum__model *, uint32_t task);

/* Whether it is pending and should resolve: thrum__model_is_stuck without what became such a one,
 * so that a chain counts once. */
bool thrum__stats_task_is_stuck(const struct thrum__model *, uint32_t task);

/* How long a run took; one that is open ends with the trace. */
int64_t thrum__stats_run_length(const struct thrum__model *, uint32_t run);

/* Of a lane's time, the thousandths of a percent that a use took; 0 when the lane has no time. */
int64_t thrum__stats_lane_share(const struct thrum__model *, const struct thrum__lane_use *);

/* By how much a counter changed a second between its first and last value, in thousandths, at most
 * ±INT64_MAX; false when there is no time between them. */
bool thrum__stats_counter_rate(const struct thrum__counter *, int64_t *rate);

/* ---- Histograms ---------------------------------------------------------------------------- */

/* Columns whose bounds are 0, then 1, 2, 5, 10, 20, 50, … ns, to 5 × 10^18. */
#define THRUM__HISTOGRAM_COLUMNS 58

struct thrum__histogram {
	uint64_t count[THRUM__HISTOGRAM_COLUMNS];
	unsigned first, last; /* columns that aren't 0; first > last when there are none */
};

/* The least value of a column; of the one past the last, INT64_MAX. */
int64_t thrum__stats_histogram_bound(unsigned column);

/* Of the tasks whose label's tally is marked in `wanted`, by tally. */
void thrum__stats_histogram_make(const struct thrum__stats *, const bool *wanted, int measure,
	struct thrum__histogram *);

#endif
