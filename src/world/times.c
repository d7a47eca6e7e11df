/* SPDX-License-Identifier: ISC */
/*
 * Finds the common time of all parts, which is the clock of the first part's host. The parts of one
 * host share its CLOCK_MONOTONIC. Between hosts, the clocks are compared every half window, by messages
 * and by pings. Pings may lead to machines of which there is no part: these are hosts, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "world/parts.h"

/* Hosts set their CLOCK_REALTIME by themselves. Where no kernel tells how well, two of them may differ by
 * so many ns; they usually do by less than REALTIME_USUAL. */
#define REALTIME_ERROR INT64_C(2000000000)
#define REALTIME_USUAL INT64_C(10000000)
/* Some programs that set the clock tell the kernel an error of 0. So where they give no estimate, a clock
 * may be wrong by so many ns more. */
#define REALTIME_UNTOLD INT64_C(100000000)
#define MESSAGE_LEAST 1000 /* ns: none between two machines is faster */
#define KNOTS_MAX 4096
#define HOSTS_MAX (THRUM__WORLD_PARTS_MAX + 8)
#define ROUNDS 2 /* an offset is looked for at the moment that the round before found */

/* The messages of two hosts, and the bounds that they give. */
struct talk {
	uint32_t a, b;
	struct thrum__world_point *there, *back;
	uint32_t there_count, there_room, back_count, back_room;
};

struct making {
	struct thrum__world_times *times;
	const struct thrum__world_part *parts;
	size_t count;
	const struct thrum__ping *pings;
	uint32_t ping_count;
	uint32_t hosts;
	uint64_t boots[HOSTS_MAX];           /* by host: see thrum_trace_info; 0: unknown */
	size_t lead[THRUM__WORLD_PARTS_MAX]; /* by host: its part that tells most of its clock */
	/* By host: its clock less that of host 0, by CLOCK_REALTIME, and as far as we know. */
	int64_t realtime[HOSTS_MAX], guess[HOSTS_MAX];
	bool is_known[HOSTS_MAX]; /* CLOCK_REALTIME is */
	/* By host: how wrong its CLOCK_REALTIME may be, and usually is; 0: unknown. */
	int64_t error[HOSTS_MAX], usual[HOSTS_MAX];
	/* By host: a part whose clock was compared with that of the machine below, if it has one. */
	size_t paired[THRUM__WORLD_PARTS_MAX];
	struct talk *talks; /* one for each two hosts: talk_of */
	size_t talk_count;
	int64_t from;
	int64_t every; /* ns between knots */
	uint32_t knots;
	struct thrum__world_edge *edges; /* by knot and talk */
};

static const struct thrum__world_bounds unbounded = {INT64_MIN, INT64_MAX};

static int64_t middle(struct thrum__world_bounds bounds)
{
	return bounds.low + (bounds.high - bounds.low) / 2;
}

static bool is_bounded(struct thrum__world_bounds bounds)
{
	return bounds.low != INT64_MIN && bounds.high != INT64_MAX;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How far clocks may drift apart in a time of either sign. */
static int64_t drift(int64_t ns)
{
	double distance = (double)ns;

	return (int64_t)((distance < 0 ? -distance : distance) * THRUM__WORLD_DRIFT_MAX);
}

/* By how far from a bound a clock that it alone holds stays: messages bound clocks most at their own
 * times. */
static int64_t margin(const struct making *m)
{
	return drift(m->every) + MESSAGE_LEAST;
}

/* Whether the middle of its bounds tells a clock better than CLOCK_REALTIME does. */
static bool is_narrow(const struct making *m, uint32_t host, struct thrum__world_bounds bounds)
{
	int64_t usual = m->usual[0] && m->usual[host] ? m->usual[0] + m->usual[host]
						      : REALTIME_USUAL;

	return is_bounded(bounds) &&
		(!m->is_known[host] || (bounds.high - bounds.low) / 2 <= larger(usual, margin(m)));
}

/* The clock of a host less that of host 0, by CLOCK_REALTIME or as near to it as its bounds allow. */
static int64_t nearest(const struct making *m, uint32_t host, struct thrum__world_bounds bounds)
{
	int64_t by = m->is_known[host] ? m->realtime[host] : m->guess[host];
	int64_t inside = margin(m);

	if (is_bounded(bounds) && (bounds.high - bounds.low) / 2 <= inside)
		return middle(bounds);
	if (bounds.low != INT64_MIN && by < bounds.low + inside)
		return bounds.low + inside;
	if (bounds.high != INT64_MAX && by > bounds.high - inside)
		return bounds.high - inside;
	return by;
}

static int64_t estimate(const struct making *m, uint32_t host, struct thrum__world_bounds bounds)
{
	return is_narrow(m, host, bounds) ? middle(bounds) : nearest(m, host, bounds);
}

/* Whether a clock that is ahead of another one by so much keeps away from the bounds of that. */
static bool is_well_inside(const struct making *m, struct thrum__world_bounds bounds, int64_t ahead)
{
	int64_t inside = margin(m);

	if (is_bounded(bounds) && (bounds.high - bounds.low) / 2 < inside)
		inside = (bounds.high - bounds.low) / 2;
	return (bounds.low == INT64_MIN || ahead >= bounds.low + inside) &&
		(bounds.high == INT64_MAX || ahead <= bounds.high - inside);
}

/* Estimates all clocks. Middles of bounds never contradict an edge. If other estimates do, these follow one
 * after the other, each within what the ones before have left. */
static void estimate_all(const struct making *m, const struct thrum__world_edge *edges,
	const struct thrum__world_bounds *offsets, int64_t *at)
{
	struct thrum__world_bounds left[HOSTS_MAX];
	bool is_loose[HOSTS_MAX], agrees = true;

	for (uint32_t i = 0; i < m->hosts; i++) {
		is_loose[i] = !is_narrow(m, i, offsets[i]);
		at[i] = estimate(m, i, offsets[i]);
		left[i] = is_loose[i] ? offsets[i] : (struct thrum__world_bounds){at[i], at[i]};
	}
	for (size_t i = 0; i < m->talk_count; i++) {
		uint32_t from = edges[i].from, to = edges[i].to;

		if (is_loose[from] || is_loose[to])
			agrees &= is_well_inside(m, edges[i].bounds, at[to] - at[from]);
	}
	if (agrees)
		return;
	for (uint32_t i = 0; i < m->hosts; i++) {
		if (!is_loose[i])
			continue;
		if (!thrum__world_clock_narrow(edges, m->talk_count, left, m->hosts))
			return;
		at[i] = nearest(m, i, left[i]);
		left[i] = (struct thrum__world_bounds){at[i], at[i]};
	}
}

static int64_t limit(int64_t ns)
{
	return ns > THRUM__WORLD_TIME_MAX     ? THRUM__WORLD_TIME_MAX
		: ns < -THRUM__WORLD_TIME_MAX ? -THRUM__WORLD_TIME_MAX
					      : ns;
}

static const struct thrum_trace_info *info_of(const struct making *m, size_t part)
{
	return thrum_trace_info(m->parts[part].trace);
}

/* ---- Hosts --------------------------------------------------------------------------------- */

static bool has_own_clock(const struct thrum_trace_info *info)
{
	return strcmp(info->clock, "tsc") != 0 && strcmp(info->clock, "monotonic") != 0;
}

/* CLOCK_REALTIME when CLOCK_MONOTONIC was 0; 0: unknown. */
static int64_t realtime_start(const struct thrum_trace_info *info)
{
	const int64_t most = INT64_MAX / 2;
	bool is_known = info->start > 0 && info->monotonic > 0;

	return is_known && info->start < most && info->monotonic < most
		? info->start - info->monotonic
		: 0;
}

/* Whether two recordings come from one machine, since one start of it. */
static bool is_one_host(const struct thrum_trace_info *a, const struct thrum_trace_info *b)
{
	int64_t between;

	if (has_own_clock(a) || has_own_clock(b))
		return false;
	if (a->boot || b->boot)
		return a->boot == b->boot;
	/* Older recordings don't tell the machine's start. */
	between = realtime_start(a) - realtime_start(b);
	return *a->host && strcmp(a->host, b->host) == 0 && realtime_start(a) != 0 &&
		realtime_start(b) != 0 && between > -1000000000 && between < 1000000000;
}

/* Sets how a clock that is as that of a part tells the time of its host. */
static void set_clock(struct thrum__world_clock *clock, const struct thrum_trace_info *info)
{
	clock->first = info->clock_first;
	clock->ns = limit(info->monotonic);
	clock->ns_per_tick = info->clock_frequency ? 1e9 / (double)info->clock_frequency : 1;
}

/* By how much the clock of the machine that was started as `boot` is ahead of a host's when that one
 * shows `at`. */
static struct thrum__world_bounds ahead(const struct making *m, uint32_t host, uint64_t boot,
	int64_t at)
{
	const struct thrum_trace_info *info = info_of(m, m->paired[host]);
	int64_t between = limit(info->host_ahead), error;
	bool is_damaged = between != info->host_ahead || info->host_error < 0;

	if (info->boot == boot && !has_own_clock(info))
		return (struct thrum__world_bounds){0, 0};
	if (info->host_boot != boot || is_damaged)
		return unbounded;
	error = limit(info->host_error) + drift(at - limit(info->host_monotonic));
	return (struct thrum__world_bounds){between - error, between + error};
}

/* By how much the clock of `b` is ahead of that of `a`, if one of them, or a third one that both were
 * compared with, is the machine below. */
static struct thrum__world_bounds compared(const struct making *m, uint32_t a, uint32_t b,
	int64_t at)
{
	const uint64_t boots[] = {info_of(m, m->paired[a])->host_boot,
		info_of(m, m->paired[b])->host_boot};

	for (int i = 0; i < 2; i++) {
		if (!boots[i])
			continue;
		struct thrum__world_bounds of_a = ahead(m, a, boots[i], at);
		struct thrum__world_bounds of_b = ahead(m, b, boots[i],
			at + m->guess[b] - m->guess[a]);

		if (is_bounded(of_a) && is_bounded(of_b))
			return (struct thrum__world_bounds){of_a.low - of_b.high,
				of_a.high - of_b.low};
	}
	return unbounded;
}

static void guess_by_realtime(struct making *m, uint32_t host)
{
	const struct thrum_trace_info *first = info_of(m, m->lead[0]);
	const struct thrum_trace_info *info = info_of(m, m->lead[host]);

	m->is_known[host] = realtime_start(first) && realtime_start(info);
	m->realtime[host] = limit(realtime_start(first) - realtime_start(info));
	m->guess[host] = m->is_known[host]
		? m->realtime[host]
		: limit(limit(info->monotonic) - limit(first->monotonic));
	if (!m->is_known[host] || info->start_error <= 0)
		return;
	m->error[host] = limit(info->start_error);
	m->usual[host] = limit(info->start_estimate);
	if (info->start_estimate <= 0) {
		m->error[host] += REALTIME_UNTOLD;
		m->usual[host] = REALTIME_USUAL / 2;
	}
}

static void find_hosts(struct making *m)
{
	for (size_t i = 0; i < m->count; i++) {
		uint32_t host = 0;

		while (host < m->hosts && !is_one_host(info_of(m, i), info_of(m, m->lead[host])))
			host++;
		if (host == m->hosts) {
			m->paired[host] = i;
			m->lead[m->hosts++] = i;
			m->boots[host] = has_own_clock(info_of(m, i)) ? 0 : info_of(m, i)->boot;
		}
		m->times->clocks[i].host = host;
		if (info_of(m, i)->host_boot)
			m->paired[host] = i;
		/* The longest recording knows best how fast the clock is. */
		if (info_of(m, i)->end > info_of(m, m->lead[host])->end)
			m->lead[host] = i;
	}
	for (size_t i = 0; i < m->count; i++) {
		size_t lead = m->lead[m->times->clocks[i].host];
		bool is_same = strcmp(info_of(m, i)->clock, info_of(m, lead)->clock) == 0;

		set_clock(&m->times->clocks[i], info_of(m, is_same ? lead : i));
	}
	for (uint32_t i = 0; i < m->hosts; i++)
		guess_by_realtime(m, i);
	for (uint32_t i = 1; i < m->hosts; i++) {
		struct thrum__world_bounds by = compared(m, 0, i, limit(info_of(m, 0)->monotonic));

		if (is_bounded(by))
			m->guess[i] = middle(by);
	}
}

/* ---- Pings --------------------------------------------------------------------------------- */

/* The host that was started as `boot`; m->hosts if there is none. */
static uint32_t host_of(const struct making *m, uint64_t boot)
{
	uint32_t host = 0;

	while (host < m->hosts && (boot == 0 || m->boots[host] != boot))
		host++;
	return host;
}

/* Adds the machines to which pings of hosts lead, as far as there is room. */
static void add_hosts(struct making *m)
{
	for (uint32_t i = 0; i < m->ping_count; i++) {
		const struct thrum__ping *ping = &m->pings[i];

		if (ping->answerer && m->hosts < HOSTS_MAX && host_of(m, ping->asker) < m->hosts &&
			host_of(m, ping->answerer) == m->hosts)
			m->boots[m->hosts++] = ping->answerer;
	}
}

/* Pings know better than CLOCK_REALTIME how far clocks are apart. */
static void guess_by_pings(struct making *m)
{
	bool is_placed[HOSTS_MAX] = {true}, is_new = true;

	while (is_new) {
		is_new = false;
		for (uint32_t i = 0; i < m->ping_count; i++) {
			const struct thrum__ping *ping = &m->pings[i];
			uint32_t a = host_of(m, ping->asker), b = host_of(m, ping->answerer);
			int64_t ahead = limit(limit(ping->heard) - limit(ping->asked));

			if (a == m->hosts || b == m->hosts || is_placed[a] == is_placed[b])
				continue;
			if (is_placed[a])
				m->guess[b] = limit(m->guess[a] + ahead);
			else
				m->guess[a] = limit(m->guess[b] - ahead);
			is_placed[a] = is_placed[b] = is_new = true;
		}
	}
}

static int64_t host_time(const struct thrum__world_clock *clock, uint64_t ticks)
{
	double ns = (double)(int64_t)(ticks - clock->first) * clock->ns_per_tick;
	double most = (double)THRUM__WORLD_TIME_MAX;

	return clock->ns + (int64_t)(ns > most ? most : ns < -most ? -most : ns);
}

/* ---- Messages ------------------------------------------------------------------------------ */

/* The talk of two hosts, a < b. */
static struct talk *talk_of(const struct making *m, uint32_t a, uint32_t b)
{
	return &m->talks[(size_t)b * (b - 1) / 2 + a];
}

static int add_point(struct thrum__world_point **points, uint32_t *count, uint32_t *room, int64_t a,
	int64_t b)
{
	struct thrum__world_point *grown = thrum__base_grow(*points, room, *count + UINT64_C(1),
		sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	*points = grown;
	grown[(*count)++] = (struct thrum__world_point){a, b};
	return 0;
}

/* Adds what one host sent to another one. */
static int add_sent(struct making *m, uint32_t from, int64_t sent_at, uint32_t to,
	int64_t received_at)
{
	struct talk *talk;

	if (from == to)
		return 0;
	if (from < to) {
		talk = talk_of(m, from, to);
		return add_point(&talk->there, &talk->there_count, &talk->there_room, sent_at,
			received_at);
	}
	talk = talk_of(m, to, from);
	return add_point(&talk->back, &talk->back_count, &talk->back_room, received_at, sent_at);
}

static int add_message(struct making *m, const struct thrum__world_link *sent,
	const struct thrum__world_link *received)
{
	const struct thrum__world_clock *from = &m->times->clocks[sent->part];
	const struct thrum__world_clock *to = &m->times->clocks[received->part];

	return add_sent(m, from->host, host_time(from, sent->clock), to->host,
		host_time(to, received->clock));
}

static int add_ping(struct making *m, const struct thrum__ping *ping)
{
	uint32_t a = host_of(m, ping->asker), b = host_of(m, ping->answerer);
	int error;

	if (a == m->hosts || b == m->hosts)
		return 0;
	error = add_sent(m, a, limit(ping->asked), b, limit(ping->heard));
	return error ? error : add_sent(m, b, limit(ping->answered), a, limit(ping->back));
}

static int compare_points(const void *a, const void *b)
{
	const struct thrum__world_point *x = a, *y = b;

	return x->a < y->a ? -1 : x->a > y->a;
}

static int collect_messages(struct making *m, const struct thrum__world_links *links)
{
	int error = 0;

	m->talk_count = (size_t)m->hosts * (m->hosts - 1) / 2;
	m->talks = calloc(m->talk_count, sizeof *m->talks);
	if (!m->talks)
		return -THRUM_E_MEMORY;
	for (uint32_t b = 1; b < m->hosts; b++)
		for (uint32_t a = 0; a < b; a++)
			*talk_of(m, a, b) = (struct talk){.a = a, .b = b};
	for (uint32_t i = 0; i < links->message_count && error == 0; i++)
		error = add_message(m, &links->all[links->messages[i].sent],
			&links->all[links->messages[i].received]);
	for (uint32_t i = 0; i < m->ping_count && error == 0; i++)
		error = add_ping(m, &m->pings[i]);
	for (size_t i = 0; i < m->talk_count && error == 0; i++) {
		struct talk *talk = &m->talks[i];

		if (talk->there_count > 0)
			qsort(talk->there, talk->there_count, sizeof *talk->there, compare_points);
		if (talk->back_count > 0)
			qsort(talk->back, talk->back_count, sizeof *talk->back, compare_points);
	}
	return error;
}

/* ---- Bounds -------------------------------------------------------------------------------- */

/* Spreads the knots over the times of all parts. */
static void place_knots(struct making *m)
{
	int64_t to = INT64_MIN;

	m->from = INT64_MAX;
	for (size_t i = 0; i < m->count; i++) {
		const struct thrum__world_clock *clock = &m->times->clocks[i];
		int64_t at = host_time(clock, info_of(m, i)->clock_first) - m->guess[clock->host];
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

/* By how much the clock of `b` is ahead of that of `a` when this one shows `at`, by CLOCK_REALTIME. */
static struct thrum__world_bounds realtime(const struct making *m, uint32_t a, uint32_t b,
	int64_t at)
{
	int64_t ahead = m->realtime[b] - m->realtime[a], error = REALTIME_ERROR;

	if (!m->is_known[a] || !m->is_known[b])
		return unbounded;
	if (m->error[a] && m->error[b])
		error = m->error[a] + m->error[b] +
			drift(at - limit(info_of(m, m->lead[a])->monotonic)) +
			drift(at + ahead - limit(info_of(m, m->lead[b])->monotonic));
	if (error > REALTIME_ERROR)
		error = REALTIME_ERROR;
	return (struct thrum__world_bounds){ahead - error, ahead + error};
}

/* Compares two clocks when that of `a` shows `at`. */
static struct thrum__world_bounds compare(const struct making *m, const struct talk *talk,
	int64_t at)
{
	struct thrum__world_pair pair = {talk->there, talk->back, talk->there_count,
		talk->back_count};
	struct thrum__world_bounds by = realtime(m, talk->a, talk->b, at), bounds;

	if (talk->b < m->times->host_count)
		by = thrum__world_clock_both(compared(m, talk->a, talk->b, at), by);

	if (thrum__world_clock_bounds(&pair, at, THRUM__WORLD_WINDOW, THRUM__WORLD_WANDER, &bounds))
		by = thrum__world_clock_both(bounds, by);
	return by;
}

/* Compares all clocks at a moment of the common time. `offsets` are those of the knot before, and
 * become those of this one. */
static int compare_all(struct making *m, int64_t at, struct thrum__world_edge *edges,
	struct thrum__world_bounds *offsets)
{
	int error = 0;

	for (int round = 0; round < ROUNDS && error == 0; round++) {
		for (size_t i = 0; i < m->talk_count; i++) {
			uint32_t a = m->talks[i].a;
			int64_t ahead = estimate(m, a, offsets[a]);

			edges[i] = (struct thrum__world_edge){a, m->talks[i].b,
				compare(m, &m->talks[i], at + ahead)};
		}
		error = thrum__world_clock_paths(edges, m->talk_count, offsets, m->hosts);
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

/* A clock may have stepped between two knots, when it moved farther than it can drift: nobody knows when. */
static void note_step(const struct making *m, struct thrum__world_knot *before,
	struct thrum__world_knot *k)
{
	int64_t moved = (k->at - k->common) - (before->at - before->common);
	double most = (double)m->every * THRUM__WORLD_DRIFT_MAX + (double)before->error +
		(double)k->error;

	moved = moved < 0 ? -moved : moved;
	if ((double)moved > most)
		before->error = k->error = moved;
}

static void set_knots(struct making *m, uint32_t knot, const struct thrum__world_bounds *offsets)
{
	int64_t common = m->from + (int64_t)knot * m->every, estimates[HOSTS_MAX];

	estimate_all(m, m->edges + knot * m->talk_count, offsets, estimates);
	for (uint32_t i = 0; i < m->hosts; i++) {
		struct thrum__world_knot *k = &m->times->knots[(size_t)i * m->knots + knot];
		int64_t offset = estimates[i];

		k->common = common;
		k->at = common + offset;
		k->error = INT64_MAX;
		if (is_bounded(offsets[i]))
			k->error = larger(offset - offsets[i].low, offsets[i].high - offset);
		if (knot > 0 && k->at <= k[-1].at)
			k->at = k[-1].at + 1;
		if (knot > 0)
			note_step(m, k - 1, k);
	}
}

static int find_knots(struct making *m)
{
	struct thrum__world_bounds offsets[HOSTS_MAX];
	size_t each = m->talk_count;
	int error = 0;

	free(m->edges);
	free(m->times->knots);
	m->edges = calloc(m->knots * each, sizeof *m->edges);
	m->times->knots = calloc((size_t)m->hosts * m->knots, sizeof *m->times->knots);
	if (!m->edges || !m->times->knots)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < m->hosts; i++)
		offsets[i] = (struct thrum__world_bounds){m->guess[i], m->guess[i]};
	for (uint32_t k = 0; k < m->knots && error == 0; k++)
		error = compare_all(m, m->from + (int64_t)k * m->every, m->edges + k * each,
			offsets);
	for (size_t i = each; i < m->knots * each; i++)
		take_over(&m->edges[i], &m->edges[i - each], m->every);
	for (size_t i = (m->knots - 1) * each; i-- > 0;)
		take_over(&m->edges[i], &m->edges[i + each], m->every);
	for (uint32_t k = 0; k < m->knots && error == 0; k++) {
		error = thrum__world_clock_paths(m->edges + k * each, each, offsets, m->hosts);
		if (error == 0)
			set_knots(m, k, offsets);
	}
	for (uint32_t i = 0; i < m->hosts && error == 0; i++)
		m->guess[i] = estimate(m, i, offsets[i]);
	for (size_t i = 0; i < m->count; i++) {
		struct thrum__world_clock *clock = &m->times->clocks[i];

		clock->knots = m->times->knots + (size_t)clock->host * m->knots;
		clock->knot_count = m->knots;
	}
	return error;
}

int thrum__world_times_make(struct thrum__world_times *times, const struct thrum__world_part *parts,
	size_t count, const struct thrum__world_links *links, const struct thrum__ping *pings,
	uint32_t ping_count)
{
	struct making m = {.times = times,
		.parts = parts,
		.count = count,
		.pings = pings,
		.ping_count = ping_count};
	int64_t zero = INT64_MAX;
	int error = 0;

	*times = (struct thrum__world_times){0};
	find_hosts(&m);
	times->host_count = m.hosts;
	if (m.hosts > 1) {
		add_hosts(&m);
		guess_by_pings(&m);
	}
	if (m.hosts > 1)
		error = collect_messages(&m, links);
	/* Only after the first round it is known well which times the parts have. */
	for (int round = 0; round < ROUNDS && m.hosts > 1 && error == 0; round++) {
		place_knots(&m);
		error = find_knots(&m);
	}
	for (size_t i = 0; i < m.talk_count && m.talks; i++) {
		free(m.talks[i].there);
		free(m.talks[i].back);
	}
	free(m.talks);
	free(m.edges);
	for (size_t i = 0; i < count && error == 0; i++) {
		int64_t first = thrum__world_time(&times->clocks[i], info_of(&m, i)->clock_first);

		zero = first < zero ? first : zero;
	}
	for (size_t i = 0; i < count; i++)
		times->clocks[i].zero = zero;
	return error;
}

void thrum__world_times_add(struct thrum__world_times *times,
	const struct thrum_trace_info *const *parts, size_t count)
{
	const struct thrum_trace_info *info = parts[count];
	struct thrum__world_clock *clock = &times->clocks[count];
	bool is_known = realtime_start(parts[0]) && realtime_start(info);
	size_t i = 0;

	while (i < count && !is_one_host(info, parts[i]))
		i++;
	*clock = times->clocks[i < count ? i : 0];
	if (i == count || strcmp(info->clock, parts[i]->clock) != 0)
		set_clock(clock, info);
	if (i < count)
		return;
	clock->host = times->host_count++;
	clock->own = (struct thrum__world_knot){.error = is_known ? REALTIME_ERROR : INT64_MAX};
	clock->own.at = is_known ? limit(realtime_start(parts[0]) - realtime_start(info))
				 : limit(limit(info->monotonic) - limit(parts[0]->monotonic));
	clock->knots = &clock->own;
	clock->knot_count = 1;
}

void thrum__world_times_finish(struct thrum__world_times *times)
{
	free(times->knots);
	times->knots = NULL;
}

/* ---- Using the times ----------------------------------------------------------------------- */

int64_t thrum__world_time(const struct thrum__world_clock *clock, uint64_t ticks)
{
	const struct thrum__world_knot *knots = clock->knots;
	int64_t at = host_time(clock, ticks);
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

int64_t thrum__world_time_error(const struct thrum__world_clock *clock)
{
	int64_t error = 0;

	for (uint32_t i = 0; i < clock->knot_count; i++)
		error = clock->knots[i].error > error ? clock->knots[i].error : error;
	return error;
}
