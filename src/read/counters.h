/* SPDX-License-Identifier: ISC */
/*
 * The counters of a recording as a tree: of a file, a snapshot, or a process that records just now.
 * The program's help isn't needed, and it may add meanwhile or be dead: each value is read at some
 * time during the call.
 *
 *	struct thrum__read_counters counters;
 *	if (thrum__read_counters(&input, &header, &counters) == 0) {
 *		... counters.items[0] to counters.items[counters.count - 1] ...
 *		thrum__read_counters_free(&counters);
 *	}
 *
 * source/input.h gives the input and the header; both may be kept from one reading to the next.
 */
#ifndef READ_COUNTERS_H
#define READ_COUNTERS_H

#include <thrum/trace.h>

#include "format/format.h"

/* Some values of a distribution: those from `low` to `high`. */
struct thrum__read_bucket {
	int64_t low, high;
	uint64_t count; /* at least 1 */
};

/* The kind of a part of the tree whose counters are not all of one kind: it has no value. */
#define THRUM__COUNTER_MIXED 3

/* A counter, or a place in the tree where no counter is but below which some are. */
struct thrum__read_counter {
	const char *path; /* "net/tcp/bytes" */
	const char *name; /* the last part of the path: "bytes" */
	uint32_t parent;  /* its index in the list, less than the child's own; UINT32_MAX: none */
	uint32_t depth;   /* 0: it has no parent */
	uint8_t kind;     /* enum thrum_counter_kind, or THRUM__COUNTER_MIXED */
	bool is_counter;  /* false: no counter has this path */
	/* The label of the tasks that it counts, in `text`: see monitor/labels.h. NULL: none, the program
	 * counts. */
	const char *label;
	/*
	 * With those of the children that have the same kind. Gauges and cumulative counters have
	 * `value`; `own` is that of this counter alone. The values of distributions are told by
	 * `count`, which is also in `value`, and the rest. Sums wrap on overflow.
	 */
	int64_t value, own;
	uint64_t count;
	int64_t sum, least, most;                 /* count 0: `least` and `most` are 0 */
	const struct thrum__read_bucket *buckets; /* in the order of their values */
	uint32_t bucket_count;
	/* Values that are in no bucket, because the recording had no room. `count` has them. */
	uint64_t loose;
};

struct thrum__read_counters {
	/* In the order of the tree: a parent, then its children by name, each with its own. */
	struct thrum__read_counter *items;
	uint32_t count;
	/* Private */
	char *text;
	struct thrum__read_bucket *buckets;
};

/* Reads the counters. A recording may have none. Returns 0 or a negative enum thrum_error, and then
 * *counters is unchanged. */
THRUM__MUST_USE int thrum__read_counters(const struct thrum__input *, const struct thrum__header *,
	struct thrum__read_counters *counters);
void thrum__read_counters_free(struct thrum__read_counters *);

/* Returns the counter or place with this path, or NULL. */
const struct thrum__read_counter *thrum__read_counters_find(const struct thrum__read_counters *,
	const char *path);

/*
 * Returns the value below which `share` (0 to 1) of the observations lie: 0.99 for the 99th
 * percentile. It is the middle of a bucket, within 3.2 % of an observed value, but no less than `least`
 * and no more than `most`, the bounds of all observations. Returns 0 if there are no buckets.
 */
int64_t thrum__read_counters_quantile(const struct thrum__read_bucket *buckets, uint32_t count,
	int64_t least, int64_t most, double share);

/*
 * Takes an earlier reading's buckets away from a later one's, so that the rest are the observations
 * in between. `to` has room for `count` buckets, and may be `later`. Returns how many are left.
 */
uint32_t thrum__read_counters_since(struct thrum__read_bucket *to,
	const struct thrum__read_bucket *later, uint32_t count,
	const struct thrum__read_bucket *earlier, uint32_t earlier_count);

#endif
