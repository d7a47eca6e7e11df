/* SPDX-License-Identifier: ISC */
/* The errors of clocks between the times at which they were compared. */
#include "read/clocks.h"

#include <stddef.h>

/* The errors of one pair. */
struct pair {
	const struct thrum__read_clocks *clocks;
	size_t number, count;
};

static int64_t end_of(const struct thrum__read_clocks *clocks)
{
	return clocks->from + (int64_t)(clocks->times - 1) * clocks->every;
}

static int64_t error_at(const struct pair *pair, uint32_t time)
{
	return pair->clocks->errors[time * pair->count + pair->number];
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* More than an error, which stays unknown if it is. */
static int64_t more(int64_t error, double by)
{
	double sum = (double)error + by;

	return sum < 0x1p62 ? (int64_t)sum : INT64_MAX;
}

/* Between two times a clock leaves the straight line farthest in the middle. */
static int64_t inside(const struct pair *pair, int64_t at)
{
	const struct thrum__read_clocks *clocks = pair->clocks;
	uint32_t time = (uint32_t)((at - clocks->from) / clocks->every);
	double way = (double)((at - clocks->from) % clocks->every) / (double)clocks->every;
	int64_t before = error_at(pair, time);
	int64_t after = way > 0 ? error_at(pair, time + 1) : before;

	if (before == INT64_MAX || after == INT64_MAX)
		return INT64_MAX;
	return more(before,
		way * (double)(after - before) + 4 * way * (1 - way) * (double)clocks->between);
}

static int64_t outside(const struct pair *pair, int64_t at)
{
	const struct thrum__read_clocks *clocks = pair->clocks;
	int64_t nearest = at < clocks->from ? clocks->from : end_of(clocks);
	double way = (double)at - (double)nearest;

	return more(error_at(pair, at < clocks->from ? 0 : clocks->times - 1),
		(way < 0 ? -way : way) * clocks->drift);
}

static int64_t at_time(const struct pair *pair, int64_t at)
{
	return at < pair->clocks->from || at > end_of(pair->clocks) ? outside(pair, at)
								    : inside(pair, at);
}

static int64_t among(const struct pair *pair, int64_t from, int64_t until)
{
	const struct thrum__read_clocks *clocks = pair->clocks;
	int64_t most = larger(at_time(pair, from), at_time(pair, until));
	int64_t first = larger(from, clocks->from), last = until;
	double stretches;

	last = last > end_of(clocks) ? end_of(clocks) : last;
	if (first >= last)
		return most;
	for (int64_t i = (first - clocks->from) / clocks->every + 1;
		i <= (last - clocks->from) / clocks->every; i++)
		most = larger(most, error_at(pair, (uint32_t)i));
	/* By no more can it be larger between these times. */
	stretches = 2 * (double)(last - first) / (double)clocks->every;
	return more(most, (stretches < 1 ? stretches : 1) * (double)clocks->between);
}

static bool find_pair(const struct thrum__read_clocks *clocks, uint32_t a, uint32_t b,
	struct pair *pair)
{
	if (!clocks->errors || a >= clocks->hosts || b >= clocks->hosts)
		return false;
	*pair = (struct pair){clocks,
		a < b ? THRUM__READ_CLOCK_PAIR(a, b) : THRUM__READ_CLOCK_PAIR(b, a),
		THRUM__READ_CLOCK_PAIR(0, clocks->hosts)};
	return true;
}

int64_t thrum__read_clock_error(const struct thrum__read_clocks *clocks, uint32_t a, uint32_t b,
	int64_t from, int64_t until)
{
	struct pair pair;

	if (a == b || !clocks)
		return 0;
	/* A machine that came later was never compared. */
	return find_pair(clocks, a, b, &pair) ? among(&pair, from, until < from ? from : until)
					      : INT64_MAX;
}

int64_t thrum__read_clock_worst(const struct thrum__read_clocks *clocks, uint32_t a, uint32_t b)
{
	return clocks ? thrum__read_clock_error(clocks, a, b, clocks->from, end_of(clocks)) : 0;
}
