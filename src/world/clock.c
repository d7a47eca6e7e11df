/* SPDX-License-Identifier: ISC */
/* Bounds the difference of clocks by messages, and along paths of such bounds. */
#include "world/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <thrum.h>

#define WINDOW_MIN INT64_C(1000000000) /* ns: a window isn't halved below it */
#define STEPS 60                       /* of a search: it ends below the precision of a double */
#define ROUNDING 2                     /* ns: what the searches may miss */

/* A bound on the offset, relative to the middle of the window and to some offset. */
struct corner {
	double x, y;
};

/* A convex hull, and which side of it is possible. */
struct side {
	struct corner *corners;
	size_t count;
	int sign; /* 1: bounds from above, -1: from below, with all numbers negated */
};

/* ---- Hulls --------------------------------------------------------------------------------- */

/* Adds a point to the lower hull, whose points come from left to right. */
static void add_corner(struct side *side, struct corner p)
{
	while (side->count > 1) {
		struct corner a = side->corners[side->count - 2];
		struct corner b = side->corners[side->count - 1];

		if ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 0)
			break;
		side->count--;
	}
	side->corners[side->count++] = p;
}

/* The first of the points at `from` or later on A's clock. */
static size_t first_from(const struct thrum__world_point *points, size_t count, int64_t from)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (points[middle].a < from)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Makes the hull of the points of a window. `corners` has room for all of them. */
static void make_side(struct side *side, const struct thrum__world_point *points, size_t count,
	int64_t at, int64_t window, int64_t base, double wander)
{
	size_t i = first_from(points, count, at - window / 2);

	side->count = 0;
	for (; i < count && points[i].a <= at + window / 2; i++) {
		double x = (double)(points[i].a - at);
		double y = (double)(points[i].b - points[i].a - base) * side->sign;

		/* Only the first of several points of one time is looked at, and only the lowest
		 * bounds. */
		y += wander * fabs(x);
		if (side->count > 0 && side->corners[side->count - 1].x >= x) {
			if (side->corners[side->count - 1].y <= y)
				continue;
			side->count--;
		}
		add_corner(side, (struct corner){x, y});
	}
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* The highest value at x = 0 of a line of this slope that lies below all corners. For bounds from
 * below: the lowest of a line above them, negated. */
static double reach(const struct side *side, double slope)
{
	double least = HUGE_VAL;

	for (size_t i = 0; i < side->count; i++)
		least = fmin(least, side->corners[i].y - slope * side->sign * side->corners[i].x);
	return least;
}

/* How much room lines of this slope have between the hulls; negative: there is none. */
static double room(const struct side sides[2], double slope)
{
	return reach(&sides[0], slope) + reach(&sides[1], slope);
}

/* The slope between two others at which a side reaches farthest, or the room is greatest. Both are
 * concave. */
static double best_slope(const struct side *side, const struct side *other, double low, double high)
{
	for (int i = 0; i < STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;
		double at_a = reach(side, a) + (other ? reach(other, a) : 0);
		double at_b = reach(side, b) + (other ? reach(other, b) : 0);

		if (at_a < at_b)
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* The slope farthest from `inside` towards `end` at which there is room. */
static double last_slope(const struct side sides[2], double inside, double end)
{
	double out = end;

	if (room(sides, end) >= 0)
		return end;
	for (int i = 0; i < STEPS; i++) {
		double middle = (inside + out) / 2;

		if (room(sides, middle) >= 0)
			inside = middle;
		else
			out = middle;
	}
	return out;
}

/* The farthest that a side's lines reach with slopes between two others. */
static int64_t farthest(const struct side *side, double low, double high, int64_t base)
{
	double value = reach(side, best_slope(side, NULL, low, high));

	if (side->count == 0)
		return side->sign > 0 ? INT64_MAX : INT64_MIN;
	return base + side->sign * (int64_t)(ceil(value) + ROUNDING);
}

/* Bounds the offset by the hulls. Returns false if no line fits. */
static bool fit(const struct side sides[2], int64_t base, struct thrum__world_bounds *bounds)
{
	double low = -THRUM__WORLD_DRIFT_MAX, high = THRUM__WORLD_DRIFT_MAX;

	if (sides[0].count > 0 && sides[1].count > 0) {
		double middle = best_slope(&sides[0], &sides[1], low, high);

		if (room(sides, middle) < 0)
			return false;
		low = last_slope(sides, middle, low);
		high = last_slope(sides, middle, high);
	}
	bounds->low = farthest(&sides[1], low, high, base);
	bounds->high = farthest(&sides[0], low, high, base);
	return true;
}

/* Whether there are points of the window both before and after its middle. */
static bool surround(const struct thrum__world_point *points, size_t count, int64_t at,
	int64_t window)
{
	size_t i = first_from(points, count, at);

	return i > 0 && i < count && points[i - 1].a >= at - window / 2 &&
		points[i].a <= at + window / 2;
}

bool thrum__world_clock_bounds(const struct thrum__world_pair *pair, int64_t at, int64_t window,
	double wander, struct thrum__world_bounds *bounds)
{
	const struct thrum__world_point *any = pair->there_count > 0 ? pair->there : pair->back;
	size_t count = pair->there_count + pair->back_count;
	bool is_there = false;

	if (count == 0)
		return false;
	struct corner *corners = malloc(count * sizeof *corners);
	struct side sides[2] = {{corners, 0, 1}, {corners, 0, -1}};
	int64_t base = any->b - any->a;

	if (!corners)
		return false;
	sides[1].corners += pair->there_count;
	for (int64_t whole = window; window >= WINDOW_MIN && !is_there; window /= 2) {
		make_side(&sides[0], pair->there, pair->there_count, at, window, base, wander);
		make_side(&sides[1], pair->back, pair->back_count, at, window, base, wander);
		if (sides[0].count + sides[1].count == 0)
			break;
		/* A clock stepped in a larger window: messages of one side of the step tell nothing of
		 * the other one. */
		if (window < whole &&
			!(surround(pair->there, pair->there_count, at, window) &&
				surround(pair->back, pair->back_count, at, window)))
			break;
		is_there = fit(sides, base, bounds);
	}
	free(corners);
	return is_there;
}

/* ---- Many clocks --------------------------------------------------------------------------- */

struct thrum__world_bounds thrum__world_clock_both(struct thrum__world_bounds a,
	struct thrum__world_bounds b)
{
	struct thrum__world_bounds both = {a.low > b.low ? a.low : b.low,
		a.high < b.high ? a.high : b.high};

	return both.low <= both.high ? both : a;
}

/* A sum that has no bound, which is `none`, if one of its terms has none, or if it is damage: the
 * difference of two sums fits an int64_t. */
static int64_t add(int64_t a, int64_t b, int64_t none)
{
	const int64_t most = INT64_MAX / 4;
	int64_t sum;

	if (a == none || b == none || __builtin_add_overflow(a, b, &sum) || sum > most ||
		sum < -most)
		return none;
	return sum;
}

static double width(struct thrum__world_bounds bounds)
{
	return (double)bounds.high - (double)bounds.low;
}

/* Bounds the clock at the other end of an edge by those of the one at this end. */
static struct thrum__world_bounds across(const struct thrum__world_edge *edge, uint32_t from,
	struct thrum__world_bounds offset)
{
	struct thrum__world_bounds by = edge->bounds;

	if (edge->to == from)
		by = (struct thrum__world_bounds){by.high == INT64_MAX ? INT64_MIN : -by.high,
			by.low == INT64_MIN ? INT64_MAX : -by.low};
	return (struct thrum__world_bounds){add(offset.low, by.low, INT64_MIN),
		add(offset.high, by.high, INT64_MAX)};
}

/* Goes on from a clock whose bounds are known to those that an edge joins to it. */
static void follow(const struct thrum__world_edge *edge, uint32_t from, const bool *is_done,
	struct thrum__world_bounds *offsets)
{
	struct thrum__world_bounds next;
	uint32_t to = edge->from == from ? edge->to : edge->from;

	if ((edge->from != from && edge->to != from) || is_done[to])
		return;
	next = across(edge, from, offsets[from]);
	if (width(next) < width(offsets[to]))
		offsets[to] = next;
}

/* Bounds each clock against clock 0, from the narrowest bounds on. */
static int go_from_first(const struct thrum__world_edge *edges, size_t edge_count,
	struct thrum__world_bounds *offsets, uint32_t count)
{
	bool *is_done = calloc(count, sizeof *is_done);

	if (!is_done)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		offsets[i] = (struct thrum__world_bounds){i ? INT64_MIN : 0, i ? INT64_MAX : 0};
	for (uint32_t done = 0; done < count; done++) {
		uint32_t next = count;

		for (uint32_t i = 0; i < count; i++)
			if (!is_done[i] &&
				(next == count || width(offsets[i]) < width(offsets[next])))
				next = i;
		is_done[next] = true;
		for (size_t i = 0; i < edge_count; i++)
			follow(&edges[i], next, is_done, offsets);
	}
	free(is_done);
	return 0;
}

/* Larger sums are damage. Two of any two can be added. */
#define FARTHEST (INT64_MAX / 8)
#define NO_WAY (INT64_MAX / 4)

static void bound(int64_t *most, int64_t by)
{
	by = by > FARTHEST ? NO_WAY : by < -FARTHEST ? -FARTHEST : by;
	*most = by < *most ? by : *most;
}

/* Goes from each clock over another one to all. */
static void go_over(int64_t *most, uint32_t count, uint32_t via)
{
	const int64_t *onward = most + (size_t)via * count;

	for (uint32_t a = 0; a < count; a++) {
		int64_t *row = most + (size_t)a * count, there = row[via];

		if (there > FARTHEST || a == via)
			continue;
		for (uint32_t b = 0; b < count; b++) {
			int64_t by = there + onward[b];

			by = by < -NO_WAY ? -NO_WAY : by;
			row[b] = by < row[b] ? by : row[b];
		}
	}
}

/* Goes along all paths. Returns false if some clock would be ahead of itself. */
static bool go_all_ways(const struct thrum__world_edge *edges, size_t edge_count, int64_t *most,
	uint32_t count)
{
	for (size_t i = 0; i < (size_t)count * count; i++)
		most[i] = i % (count + 1) ? NO_WAY : 0;
	for (size_t i = 0; i < edge_count; i++) {
		const struct thrum__world_edge *e = &edges[i];

		bound(&most[e->from * count + e->to], e->bounds.high);
		if (e->bounds.low != INT64_MIN)
			bound(&most[e->to * count + e->from], -e->bounds.low);
	}
	for (uint32_t via = 0; via < count; via++) {
		go_over(most, count, via);
		for (uint32_t a = 0; a < count; a++)
			if (most[a * count + a] < 0)
				return false;
	}
	for (size_t i = 0; i < (size_t)count * count; i++)
		most[i] = most[i] > FARTHEST ? INT64_MAX : most[i];
	return true;
}

int thrum__world_clock_paths(const struct thrum__world_edge *edges, size_t edge_count,
	int64_t *most, uint32_t count)
{
	struct thrum__world_bounds *offsets;
	int error;

	if (go_all_ways(edges, edge_count, most, count))
		return 0;
	offsets = malloc(count * sizeof *offsets);
	if (!offsets)
		return -THRUM_E_MEMORY;
	error = go_from_first(edges, edge_count, offsets, count);
	for (uint32_t a = 0; a < count && error == 0; a++)
		for (uint32_t b = 0; b < count; b++)
			most[a * count + b] = a == b ? 0
				: offsets[a].low == INT64_MIN
				? INT64_MAX
				: add(offsets[b].high, -offsets[a].low, INT64_MAX);
	free(offsets);
	return error;
}
