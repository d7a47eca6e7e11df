/* SPDX-License-Identifier: ISC */
/*
 * Finds the common time of all parts, which is the clock of the first part's host. The parts of one
 * host share its CLOCK_MONOTONIC. Between hosts, the clocks are compared every half window, by messages
 * and by pings. Pings may lead to machines of which there is no part: these are hosts, too.
 */
#include <stdlib.h>

#include "world/making.h"

#define KNOTS_MAX 4096
#define NEAR 50000 /* ns, in which clocks drift apart by 10 ns */
#define ROUNDS 2   /* an offset is looked for at the moment that the round before found */

int64_t thrum__world_host_time(const struct thrum__world_clock *clock, uint64_t ticks)
{
	double ns = (double)(int64_t)(ticks - clock->first) * clock->ns_per_tick;
	double most = (double)THRUM__WORLD_TIME_MAX;

	return clock->ns + (int64_t)(ns > most ? most : ns < -most ? -most : ns);
}

/* Spreads the knots over the times of all parts. */
static void place_knots(struct thrum__world_making *m)
{
	int64_t to = INT64_MIN;

	m->from = INT64_MAX;
	for (size_t i = 0; i < m->count; i++) {
		const struct thrum__world_clock *clock = &m->times->clocks[i];
		int64_t at = thrum__world_host_time(clock, info_of(m, i)->clock_first) -
			m->guess[clock->host];
		int64_t end = at + limit(info_of(m, i)->end);

		m->from = at < m->from ? at : m->from;
		to = end > to ? end : to;
	}
	m->every = THRUM__WORLD_WINDOW / 2;
	if ((to - m->from) / m->every >= KNOTS_MAX - 1)
		m->every = (to - m->from) / (KNOTS_MAX - 1) + 1;
	/* A short trace has two knots, one at each end. */
	if (to - m->from < m->every)
		m->every = to > m->from ? to - m->from : 1;
	m->knots = (uint32_t)((to - m->from + m->every - 1) / m->every) + 1;
}

/* Compares two clocks when that of `a` shows `at`. */
static struct thrum__world_bounds compare(const struct thrum__world_making *m,
	const struct thrum__world_talk *talk, int64_t at)
{
	struct thrum__world_pair pair = {talk->there, talk->back, talk->there_count,
		talk->back_count};
	struct thrum__world_bounds by = thrum__world_hosts_compare(m, talk->a, talk->b, at), bounds;

	if (thrum__world_clock_bounds(&pair, at, THRUM__WORLD_WINDOW, THRUM__WORLD_WANDER, &bounds))
		by = thrum__world_clock_both(bounds, by);
	return by;
}

/* Sets how far all clocks are ahead, as far as m->most tells. Returns whether one of them moved by more than
 * NEAR. */
static bool move(const struct thrum__world_making *m, int64_t *ahead)
{
	bool is_far = false;

	for (uint32_t i = 0; i < m->hosts; i++) {
		int64_t now = thrum__world_estimate(m, i,
			thrum__world_clock_ahead(m->most, m->hosts, 0, i));

		is_far |= now - ahead[i] > NEAR || ahead[i] - now > NEAR;
		ahead[i] = now;
	}
	return is_far;
}

/* Compares all clocks at a moment of the common time. m->most has what was known at the knot before. */
static int compare_all(struct thrum__world_making *m, int64_t at, struct thrum__world_edge *edges)
{
	int64_t ahead[THRUM__WORLD_HOSTS_MAX] = {0};
	bool is_far = true;
	int error = 0;

	move(m, ahead);
	for (int round = 0; round < ROUNDS && is_far && error == 0; round++) {
		for (size_t i = 0; i < m->talk_count; i++) {
			const struct thrum__world_talk *talk = &m->talks[i];

			edges[i] = (struct thrum__world_edge){talk->a, talk->b,
				compare(m, talk, at + ahead[talk->a])};
		}
		error = thrum__world_clock_paths(edges, m->talk_count, m->most, m->hosts);
		is_far = error == 0 && move(m, ahead);
	}
	return error;
}

/* Between two knots clocks can't drift apart by more than this. */
static void take_over(struct thrum__world_edge *to, const struct thrum__world_edge *from,
	int64_t every)
{
	int64_t most = drift(every) + 1;
	struct thrum__world_bounds by = from->bounds;

	by.low = by.low == INT64_MIN ? by.low : by.low - most;
	by.high = by.high == INT64_MAX ? by.high : by.high + most;
	to->bounds = thrum__world_clock_both(to->bounds, by);
}

static int64_t *error_of(const struct thrum__world_making *m, uint32_t knot, uint32_t a, uint32_t b)
{
	uint32_t hosts = m->times->host_count;

	return &m->times->errors[knot * THRUM__READ_CLOCK_PAIR(0, hosts) +
		(a < b ? THRUM__READ_CLOCK_PAIR(a, b) : THRUM__READ_CLOCK_PAIR(b, a))];
}

/* By how much the estimates of two clocks may be wrong to each other. */
static void set_error(const struct thrum__world_making *m, uint32_t knot, uint32_t a, uint32_t b,
	int64_t ahead)
{
	struct thrum__world_bounds bounds = thrum__world_clock_ahead(m->most, m->hosts, a, b);

	*error_of(m, knot, a, b) = is_bounded(bounds)
		? larger(ahead - bounds.low, bounds.high - ahead)
		: INT64_MAX;
}

/* A clock may have stepped before a knot, when it moved farther than it can drift: nobody knows when. */
static void note_step(const struct thrum__world_making *m, uint32_t host, uint32_t knot)
{
	const struct thrum__world_knot *k = &m->times->knots[(size_t)host * m->knots + knot];
	int64_t moved = (k->at - k->common) - (k[-1].at - k[-1].common);
	double most = (double)m->every * THRUM__WORLD_DRIFT_MAX +
		(double)*error_of(m, knot - 1, 0, host) + (double)*error_of(m, knot, 0, host);

	moved = moved < 0 ? -moved : moved;
	if ((double)moved <= most)
		return;
	for (uint32_t other = 0; other < m->times->host_count; other++) {
		if (other == host)
			continue;
		for (uint32_t i = knot - 1; i <= knot; i++)
			*error_of(m, i, other, host) = larger(moved, *error_of(m, i, other, host));
	}
}

static void set_knots(struct thrum__world_making *m, uint32_t knot)
{
	int64_t common = m->from + (int64_t)knot * m->every, at[THRUM__WORLD_HOSTS_MAX];

	thrum__world_estimate_all(m, m->most, at);
	for (uint32_t i = 0; i < m->hosts; i++) {
		struct thrum__world_knot *k = &m->times->knots[(size_t)i * m->knots + knot];

		*k = (struct thrum__world_knot){common + at[i], common};
		if (knot > 0 && k->at <= k[-1].at)
			k->at = k[-1].at + 1;
	}
	for (uint32_t b = 1; b < m->times->host_count; b++)
		for (uint32_t a = 0; a < b; a++)
			set_error(m, knot, a, b, at[b] - at[a]);
	for (uint32_t i = 1; i < m->times->host_count && knot > 0; i++)
		note_step(m, i, knot);
}

static int allocate(struct thrum__world_making *m)
{
	struct thrum__world_times *times = m->times;

	free(m->edges);
	free(times->knots);
	free(times->errors);
	m->edges = calloc(m->knots * m->talk_count, sizeof *m->edges);
	times->knots = calloc((size_t)m->hosts * m->knots, sizeof *times->knots);
	times->errors = calloc(m->knots * THRUM__READ_CLOCK_PAIR(0, times->host_count),
		sizeof *times->errors);
	return m->edges && times->knots && times->errors ? 0 : -THRUM_E_MEMORY;
}

static int find_knots(struct thrum__world_making *m)
{
	size_t each = m->talk_count;
	int error = allocate(m);

	if (error)
		return error;
	for (uint32_t a = 0; a < m->hosts; a++)
		for (uint32_t b = 0; b < m->hosts; b++)
			m->most[a * m->hosts + b] = m->guess[b] - m->guess[a];
	for (uint32_t k = 0; k < m->knots && error == 0; k++)
		error = compare_all(m, m->from + (int64_t)k * m->every, m->edges + k * each);
	for (size_t i = each; i < m->knots * each; i++)
		take_over(&m->edges[i], &m->edges[i - each], m->every);
	for (size_t i = (m->knots - 1) * each; i-- > 0;)
		take_over(&m->edges[i], &m->edges[i + each], m->every);
	for (uint32_t k = 0; k < m->knots && error == 0; k++) {
		error = thrum__world_clock_paths(m->edges + k * each, each, m->most, m->hosts);
		if (error == 0)
			set_knots(m, k);
	}
	for (uint32_t i = 0; i < m->hosts && error == 0; i++)
		m->guess[i] = thrum__world_estimate(m, i,
			thrum__world_clock_ahead(m->most, m->hosts, 0, i));
	for (size_t i = 0; i < m->count; i++) {
		struct thrum__world_clock *clock = &m->times->clocks[i];

		clock->knots = m->times->knots + (size_t)clock->host * m->knots;
		clock->knot_count = m->knots;
	}
	return error;
}

/* Tells the errors of clocks in the time of the trace. */
static void tell_errors(const struct thrum__world_making *m, int64_t zero)
{
	m->times->apart = (struct thrum__read_clocks){.from = m->from - zero,
		.every = m->every,
		.times = m->knots,
		.hosts = m->times->host_count,
		.between = (int64_t)((double)m->every / 2 * THRUM__WORLD_WANDER),
		.drift = THRUM__WORLD_DRIFT_MAX,
		.errors = m->times->errors};
}

int thrum__world_times_make(struct thrum__world_times *times, const struct thrum__world_part *parts,
	size_t count, const struct thrum__world_links *links, const struct thrum__ping *pings,
	uint32_t ping_count)
{
	struct thrum__world_making m = {.times = times,
		.parts = parts,
		.count = count,
		.pings = pings,
		.ping_count = ping_count};
	int64_t zero = INT64_MAX;
	int error = 0;

	*times = (struct thrum__world_times){0};
	thrum__world_hosts_find(&m);
	if (m.hosts > 1)
		error = thrum__world_talks_collect(&m, links);
	if (m.hosts > 1 && !error) {
		m.most = calloc((size_t)m.hosts * m.hosts, sizeof *m.most);
		error = m.most ? 0 : -THRUM_E_MEMORY;
	}
	/* Only after the first round it is known well which times the parts have. */
	for (int round = 0; round < ROUNDS && m.hosts > 1 && error == 0; round++) {
		place_knots(&m);
		error = find_knots(&m);
	}
	thrum__world_talks_finish(&m);
	free(m.edges);
	free(m.most);
	for (size_t i = 0; i < count && error == 0; i++) {
		int64_t first = thrum__world_time(&times->clocks[i], info_of(&m, i)->clock_first);

		zero = first < zero ? first : zero;
	}
	for (size_t i = 0; i < count; i++)
		times->clocks[i].zero = zero;
	if (m.hosts > 1 && !error)
		tell_errors(&m, zero);
	return error;
}

void thrum__world_times_finish(struct thrum__world_times *times)
{
	free(times->knots);
	free(times->errors);
	times->knots = NULL;
	times->errors = NULL;
}

/* ---- Using the times ----------------------------------------------------------------------- */

int64_t thrum__world_time(const struct thrum__world_clock *clock, uint64_t ticks)
{
	const struct thrum__world_knot *knots = clock->knots;
	int64_t at = thrum__world_host_time(clock, ticks);
	uint32_t low = 0, high = clock->knot_count;

	if (high == 0)
		return at - clock->zero;
	/* The last knot that isn't later, or the first one. */
	while (high - low > 1) {
		uint32_t between = low + (high - low) / 2;

		if (knots[between].at <= at)
			low = between;
		else
			high = between;
	}
	int64_t past = at - knots[low].at;

	if (past > 0 && low + 1 < clock->knot_count)
		past = (int64_t)((double)past *
			(double)(knots[low + 1].common - knots[low].common) /
			(double)(knots[low + 1].at - knots[low].at));
	return knots[low].common + past - clock->zero;
}
