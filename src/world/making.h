/* SPDX-License-Identifier: ISC */
/* How the common time is made: what hosts.c, talks.c, estimate.c and times.c share. Private to the room. */
#ifndef WORLD_MAKING_H
#define WORLD_MAKING_H

#include "world/parts.h"

#define THRUM__WORLD_REALTIME_USUAL INT64_C(10000000) /* ns: see hosts.c */
#define THRUM__WORLD_MESSAGE_LEAST 1000               /* ns: none between two machines is faster */
#define THRUM__WORLD_HOSTS_MAX (THRUM__WORLD_PARTS_MAX + 8)

/* The messages of two hosts, and the bounds that they give. */
struct thrum__world_talk {
	uint32_t a, b;
	struct thrum__world_point *there, *back;
	uint32_t there_count, there_room, back_count, back_room;
};

struct thrum__world_making {
	struct thrum__world_times *times;
	const struct thrum__world_part *parts;
	size_t count;
	const struct thrum__ping *pings;
	uint32_t ping_count;
	uint32_t hosts;
	uint64_t boots[THRUM__WORLD_HOSTS_MAX]; /* by host: see thrum_trace_info; 0: unknown */
	size_t lead[THRUM__WORLD_PARTS_MAX];    /* by host: its part that tells most of its clock */
	/* By host: its clock less that of host 0, by CLOCK_REALTIME, and as far as we know. */
	int64_t realtime[THRUM__WORLD_HOSTS_MAX], guess[THRUM__WORLD_HOSTS_MAX];
	bool is_known[THRUM__WORLD_HOSTS_MAX]; /* CLOCK_REALTIME is */
	/* By host: how wrong its CLOCK_REALTIME may be, and usually is; 0: unknown. */
	int64_t error[THRUM__WORLD_HOSTS_MAX], usual[THRUM__WORLD_HOSTS_MAX];
	/* By host: a part whose clock was compared with that of the machine below, if it has one. */
	size_t paired[THRUM__WORLD_PARTS_MAX];
	struct thrum__world_talk *talks; /* one for each two hosts: talk_of */
	size_t talk_count;
	int64_t from;
	int64_t every; /* ns between knots */
	uint32_t knots;
	struct thrum__world_edge *edges; /* by knot and talk */
	int64_t *
		most; /* by how much hosts may be ahead of each other: see thrum__world_clock_paths */
};

#define THRUM__WORLD_UNBOUNDED ((struct thrum__world_bounds){INT64_MIN, INT64_MAX})

static inline int64_t middle(struct thrum__world_bounds bounds)
{
	return bounds.low + (bounds.high - bounds.low) / 2;
}

static inline bool is_bounded(struct thrum__world_bounds bounds)
{
	return bounds.low != INT64_MIN && bounds.high != INT64_MAX;
}

static inline int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How far clocks may drift apart in a time of either sign. */
static inline int64_t drift(int64_t ns)
{
	double distance = (double)ns;

	return (int64_t)((distance < 0 ? -distance : distance) * THRUM__WORLD_DRIFT_MAX);
}

static inline int64_t limit(int64_t ns)
{
	return ns > THRUM__WORLD_TIME_MAX     ? THRUM__WORLD_TIME_MAX
		: ns < -THRUM__WORLD_TIME_MAX ? -THRUM__WORLD_TIME_MAX
					      : ns;
}

static inline const struct thrum_trace_info *info_of(const struct thrum__world_making *m,
	size_t part)
{
	return thrum_trace_info(m->parts[part].trace);
}

/* ---- hosts.c ---- */

/* Finds the machines from which the parts come, and how far their clocks are apart, about. Those to which
 * pings lead are added. */
void thrum__world_hosts_find(struct thrum__world_making *);
/* The host that was started as `boot`; m->hosts if there is none. */
uint32_t thrum__world_host_of(const struct thrum__world_making *, uint64_t boot);
/* By how much the clock of `b` is ahead of that of `a` when this one shows `at`: if one of them, or a third
 * one that both were compared with, is the machine below, and by CLOCK_REALTIME. */
struct thrum__world_bounds thrum__world_hosts_compare(const struct thrum__world_making *,
	uint32_t a, uint32_t b, int64_t at);

/* ---- talks.c ---- */

/* Collects the messages and pings of each two hosts. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__world_talks_collect(struct thrum__world_making *,
	const struct thrum__world_links *);
void thrum__world_talks_finish(struct thrum__world_making *);

/* ---- estimate.c ---- */

/* The clock of a host less that of host 0, of which we know the bounds. */
int64_t thrum__world_estimate(const struct thrum__world_making *, uint32_t host,
	struct thrum__world_bounds);
/* Estimates all clocks, of which thrum__world_clock_paths found `most`. Middles of bounds never contradict
 * each other. If other estimates do, these follow one after the other, each within what the ones before have
 * left. O(hosts²). */
void thrum__world_estimate_all(const struct thrum__world_making *, const int64_t *most,
	int64_t *at);

/* ---- times.c ---- */

/* Returns the time of a host's clock at these ticks of a part's clock. */
int64_t thrum__world_host_time(const struct thrum__world_clock *, uint64_t ticks);

#endif
