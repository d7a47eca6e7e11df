/* SPDX-License-Identifier: ISC */
/*
 * world/clock: what messages tell about two clocks, and what such pairs tell about many. It knows
 * nothing of traces. Private to the room.
 *
 * No message arrives before it is sent. So each message from A to B bounds from above how far B's
 * clock may be behind A's, and each message back bounds it from below. Within a window of time
 * the relation of two clocks is nearly a straight line, and only lines between the convex hulls of
 * both kinds of bounds are possible: A. Duda, G. Harrus, Y. Haddad, G. Bernard, "Estimating Global
 * Time in Distributed Systems", ICDCS 1987. Real clocks change their speed, so a message counts for
 * less the farther away it is.
 */
#ifndef WORLD_CLOCK_H
#define WORLD_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THRUM__WORLD_WINDOW INT64_C(120000000000) /* ns */
/* By how much a clock's speed may differ from its mean in a window: a message at a distance of t is
 * wrong by WANDER * t at most. */
#define THRUM__WORLD_WANDER 0.3e-6
#define THRUM__WORLD_TIME_MAX (INT64_C(1) << 58) /* ns, 9 years: later times are damage */
/* Two clocks never differ more in speed. So a step of a clock that is smaller than what they may drift
 * apart between two messages can't be told from drift. */
#define THRUM__WORLD_DRIFT_MAX 200e-6

/* One message: what clock A showed, and clock B, when it was sent at one and received at the
 * other. */
struct thrum__world_point {
	int64_t a, b; /* ns */
};

/* All messages from A to B and from B to A, each in the order of A's times. */
struct thrum__world_pair {
	const struct thrum__world_point *there, *back;
	size_t there_count, back_count;
};

/* A number that lies between two others. */
struct thrum__world_bounds {
	int64_t low, high; /* INT64_MIN and INT64_MAX: there is no such bound */
};

/*
 * Bounds B's clock less A's when A's shows `at`, by the messages at most half a window away, each
 * looser by `wander` times its distance. If no line fits these, the window is halved, as long as
 * there are messages both ways before and after. Returns false if there are no messages there, or
 * memory is short. O(messages), by Andrew's monotone chain.
 */
bool thrum__world_clock_bounds(const struct thrum__world_pair *, int64_t at, int64_t window,
	double wander, struct thrum__world_bounds *);

/* Both must hold. If they contradict each other, `a` counts. */
struct thrum__world_bounds thrum__world_clock_both(struct thrum__world_bounds a,
	struct thrum__world_bounds b);

/* The clock of `to` less that of `from`. */
struct thrum__world_edge {
	uint32_t from, to;
	struct thrum__world_bounds bounds;
};

/*
 * Bounds all of `count` clocks by each other, along all paths of edges (Floyd 1962): most[a * count + b]
 * becomes the most by which clock b may be ahead of clock a; INT64_MAX: there is no bound. If edges
 * contradict each other, each clock is bounded against clock 0 alone, along the path whose widths have the
 * least sum (Dijkstra 1959), and all others follow from that. Returns 0 or -THRUM_E_MEMORY.
 * O(count³ + count · edges).
 */
int thrum__world_clock_paths(const struct thrum__world_edge *edges, size_t edge_count,
	int64_t *most, uint32_t count);

/* The bounds of clock b less clock a, of what thrum__world_clock_paths found. */
static inline struct thrum__world_bounds thrum__world_clock_ahead(const int64_t *most,
	uint32_t count, uint32_t a, uint32_t b)
{
	int64_t behind = most[b * count + a];

	return (struct thrum__world_bounds){behind == INT64_MAX ? INT64_MIN : -behind,
		most[a * count + b]};
}

#endif
