/* SPDX-License-Identifier: ISC */
/*
 * Statistics of a model: how many tasks of each label, kind and call site there are, how they
 * ended, and how long they lived, ran and waited; how lanes spent their time; the longest runs;
 * histograms. Nothing here makes sentences or draws. This is the face of the folder analyse/stats:
 *
 *	stats.c      counts and measures tasks
 *	lanes.c      lanes, the longest runs, rates of counters
 *	off_cpu.c    divides runs by whether their thread was on a CPU
 *	histogram.c  histograms
 *
 * Tasks have three measures, in ns:
 * life     the end less the start. Only tasks that ended (resolved, failed, were cancelled, became
 *          another) and whose beginning is known have one. The task that another became has a life
 *          of its own.
 * running  the sum of the task's runs, also of those after its end; each task has one. A run counts
 *          for the task that ran, not for the one that it became; an open run ends with the trace.
 * waiting  the life less the runs within it. A task has one if it has a life.
 *
 * The lanes' own tasks, which run while no other does, are left out of the tasks' numbers; they
 * count in the lanes' numbers. Sums stop at INT64_MAX.
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

/* How the values of one measure are spread, in ns. All are exact; a percentile is the nearest rank:
 * the least value such that so many percent of all values are no greater. All 0 if count is 0. */
struct thrum__spread {
	uint64_t count;
	int64_t total, min, mean, p50, p90, p99, max;
};

enum thrum__tally_by {
	THRUM__BY_LABEL, /* by the label's pattern (analyse/label.h) and the kind */
	THRUM__BY_KIND,
	THRUM__BY_SITE, /* tasks without a call site are in no tally */
	THRUM__TALLIES,
};

/* The tasks with the same label's pattern and kind, the same kind, or the same call site. */
struct thrum__tally {
	uint32_t sample;       /* the first of these tasks, for its kind and call site */
	uint32_t tasks, stuck; /* how many; stuck: thrum__stats_task_is_stuck */
	uint32_t state[5];     /* by enum thrum__state */
	struct thrum__spread spread[THRUM__MEASURE_COUNT];
	/* How the running time divides, ns; what is in none isn't known. */
	int64_t on_cpu, ready, blocked;
	bool has_cpu; /* this is known of some run */
};

struct thrum__tallies {
	struct thrum__tally *tallies; /* in the order of their first tasks */
	uint32_t count, room;
	uint32_t *of;                 /* a task's tally by its place, or NONE */
	struct thrum__base_keys keys; /* by tally; BY_LABEL, the texts are the labels' patterns */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

/* X(NAME, word): how a lane spends time. */
#define THRUM__LANE_USES(X) \
	X(RUNNING, "running")     /* a task other than the lane's own */ \
	X(OWN, "own")             /* the lane's own task */ \
	X(SUSPENDED, "suspended") /* for each reason */ \
	X(SPAN, "span")           /* for each name; the time of a nested span counts for both */ \
	X(ON_CPU, "on-cpu")   /* where it is known when it was off; the rest of its time is: */ \
	X(OFF_CPU, "off-cpu") /* for each reason */ \
	X(GAP, "gap")         /* for each cause */

enum thrum__lane_use_kind {
#define THRUM__X(NAME, word) THRUM__LANE_##NAME,
	THRUM__LANE_USES(THRUM__X)
#undef THRUM__X
};

/* The word, or "unknown". Static. */
const char *thrum__stats_lane_use_name(int kind);

/* All runs, suspensions, spans or gaps of a lane with the same use and the same reason, name or
 * cause. */
struct thrum__lane_use {
	uint32_t lane;
	uint8_t kind;       /* enum thrum__lane_use_kind */
	uint32_t count;     /* how many there were */
	int64_t total, max; /* ns */
	uint64_t lost;      /* GAP: lost events */
};

/* ---- All statistics ------------------------------------------------------------------------ */

struct thrum__stats {
	const struct thrum__model *model;
	int64_t from, until;                    /* the time that counts, both included */
	uint32_t task_count;                    /* tasks from this index on have no numbers */
	uint32_t places, *place;                /* of tasks: thrum__stats_place */
	bool simplify;                          /* lives begin at `start`; else at `created` */
	int64_t *measure[THRUM__MEASURE_COUNT]; /* ns, by place; -1: the task has none */
	struct thrum__tallies by[THRUM__TALLIES];
	struct thrum__lane_use *uses; /* in the order in which they were first met */
	uint32_t use_count, use_room;
	struct thrum__base_keys use_keys; /* by use; the texts are reasons, names or causes */
	uint32_t *longest; /* runs of tasks other than the lanes' own, the longest first */
	uint32_t longest_count, most_longest;
	int step; /* what thrum__stats_go_on does next */
};

/*
 * Counts and measures everything, and keeps the `longest` longest runs. `simplify`: lives begin at
 * the start of tasks as the simplified picture shows them, not at their creation. The model must
 * outlive *stats; if it grows or forgets later, these numbers stay. Returns 0 or -THRUM_E_MEMORY,
 * with *stats untouched. Free with thrum__stats_free. O(runs × log longest + tasks × log tasks +
 * suspensions + spans + gaps).
 */
THRUM__MUST_USE int thrum__stats_make(const struct thrum__model *, bool simplify, uint32_t longest,
	struct thrum__stats *);
/* The same for a part of the time, both ends included: the tasks that lived then, with their whole
 * measures; the runs, suspensions, spans and gaps of that time, with their lengths within it. */
THRUM__MUST_USE int thrum__stats_make_between(const struct thrum__model *, bool simplify,
	uint32_t longest, int64_t from, int64_t until, struct thrum__stats *);
/* Measures the tasks of all time alone; the rest of *stats is empty. O(runs + tasks). */
THRUM__MUST_USE int thrum__stats_measure(const struct thrum__model *, bool simplify,
	struct thrum__stats *);
/*
 * The same as thrum__stats_make in steps, of which the longest takes about a quarter of the time. Call
 * thrum__stats_go_on until it returns 0; meanwhile the model must stay as it is. It returns 1 while more
 * is to be done, or -THRUM_E_MEMORY: then *stats is empty. thrum__stats_free ends it early, too.
 */
void thrum__stats_begin(struct thrum__stats *, const struct thrum__model *, bool simplify,
	uint32_t longest);
THRUM__MUST_USE int thrum__stats_go_on(struct thrum__stats *);
void thrum__stats_free(struct thrum__stats *);

/* Whether a task has a place: an index into the arrays "by place". A task in a block that the model
 * had forgotten has none. If the model has all its tasks, a task's place is its index. */
static inline bool thrum__stats_has(const struct thrum__stats *stats, uint32_t task)
{
	return task < stats->task_count && stats->place[task >> THRUM__BLOCK_SHIFT] != THRUM__NONE;
}

/* The task's place. It must have one. */
static inline uint32_t thrum__stats_place(const struct thrum__stats *stats, uint32_t task)
{
	return stats->place[task >> THRUM__BLOCK_SHIFT] + (task & THRUM__BLOCK_MASK);
}

/* The first task at or after `task` that has a place; task_count or more: there is none. */
static inline uint32_t thrum__stats_next(const struct thrum__stats *stats, uint32_t task)
{
	while (task < stats->task_count && !thrum__stats_has(stats, task))
		task = (task | THRUM__BLOCK_MASK) + 1;
	return task;
}

/* "preexisting" for a task that the trace never saw created, else the kind's word. Static. */
const char *thrum__stats_task_kind(const struct thrum__model *, uint32_t task);

/* Whether a task is pending and thrum__model_is_stuck. A task that became another doesn't count, so
 * that of the tasks that became one another only the last does. */
bool thrum__stats_task_is_stuck(const struct thrum__model *, uint32_t task);

/* How many ns a run took. An open run ends with the trace. */
int64_t thrum__stats_run_length(const struct thrum__model *, uint32_t run);

/* How many ns a task ran, in all its runs together. */
int64_t thrum__stats_time_run(const struct thrum__model *, uint32_t task);

/* The share of a use in the time from the lane's first event to its last, as far as it counts, in
 * thousandths of a percent; 0 if that time is 0. */
int64_t thrum__stats_lane_share(const struct thrum__stats *, const struct thrum__lane_use *);

/* Sets *rate to the change of a counter for each second between its first and its last value, in
 * thousandths, at most ±INT64_MAX. Returns false if no time lies between these. */
bool thrum__stats_counter_rate(const struct thrum__counter *, int64_t *rate);

/* A counter in the time that counts. If that is all time, values that the model has forgotten count
 * in all but `count` and `rate`. */
struct thrum__counter_numbers {
	uint32_t count; /* values; 0: the others are not known, unless all time counts */
	int64_t last, min, max;
	bool has_rate;
	int64_t rate; /* as thrum__stats_counter_rate tells it */
};

struct thrum__counter_numbers thrum__stats_counter(const struct thrum__stats *, uint32_t counter);

/* ---- Histograms ---------------------------------------------------------------------------- */

/* The columns begin at 0, 1, 2, 5, 10, 20, 50, … ns, the last one at 5 × 10^18. */
#define THRUM__HISTOGRAM_COLUMNS 58

struct thrum__histogram {
	uint64_t count[THRUM__HISTOGRAM_COLUMNS];
	unsigned first, last; /* columns with a count; first > last if there are none */
};

/* The least value in a column, in ns; INT64_MAX for a column past the last. */
int64_t thrum__stats_histogram_bound(unsigned column);

/* Counts the values of a measure (enum thrum__measure) of those tasks whose tally by label, as an
 * index into `wanted`, is true there. O(tasks). */
void thrum__stats_histogram_make(const struct thrum__stats *, const bool *wanted, int measure,
	struct thrum__histogram *);

#endif
