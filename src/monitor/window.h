/* SPDX-License-Identifier: ISC */
/*
 * Windows: the latest stretch of time of a number, a counter or a distribution. A window is made of
 * slots, so that it takes the same memory however often samples are taken. So it is longer than it
 * should be, by a 64th or by the time between two samples. Nothing is known of a window that isn't
 * full.
 */
#ifndef MONITOR_WINDOW_H
#define MONITOR_WINDOW_H

#include <thrum/trace.h>

#include "read/counters.h"

#define THRUM__WINDOW_SLOTS 66

struct thrum__monitor_window_slot {
	uint64_t time; /* ns: when it begins */
	double first;  /* the number at its beginning */
	double sum;    /* of the numbers in it */
	uint64_t numbers;
	/* A distribution, at its beginning. */
	uint64_t count;
	int64_t total;
	struct thrum__read_bucket *buckets;
	uint32_t bucket_count;
};

struct thrum__monitor_window {
	uint64_t length; /* ns, at least 1 */
	struct thrum__monitor_window_slot slots[THRUM__WINDOW_SLOTS];
	uint32_t first, used;
	uint64_t now;
	double last;
};

/* The observations of a window. */
struct thrum__monitor_window_distribution {
	uint64_t count;
	double mean;                        /* NAN if there are none */
	struct thrum__read_bucket *buckets; /* for the caller to free */
	uint32_t bucket_count;
};

/* An empty window of `length` ns. Free it with thrum__monitor_window_finish. */
void thrum__monitor_window_init(struct thrum__monitor_window *, uint64_t length);
void thrum__monitor_window_finish(struct thrum__monitor_window *);

/* Add a number, and a distribution, of a time in ns that is not before the last. A window has the
 * ones or the others. Return 0 or -THRUM_E_MEMORY. */
void thrum__monitor_window_add(struct thrum__monitor_window *, uint64_t time, double number);
THRUM__MUST_USE int thrum__monitor_window_add_distribution(struct thrum__monitor_window *,
	uint64_t time, const struct thrum__read_counter *);

/* The mean of the numbers in the window, and their growth for each second; NAN if the window isn't
 * full yet. */
double thrum__monitor_window_mean(const struct thrum__monitor_window *);
double thrum__monitor_window_growth(const struct thrum__monitor_window *);

/* Returns 1 and the observations in the window, up to those of `now`, which was added last; 0 if the
 * window isn't full yet; or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__monitor_window_observed(const struct thrum__monitor_window *,
	const struct thrum__read_counter *now, struct thrum__monitor_window_distribution *);

#endif
