/* SPDX-License-Identifier: ISC */
/* The machines from which the parts come, and what is known of their clocks without messages. */
#include <string.h>

#include "world/making.h"

/* Hosts set their CLOCK_REALTIME by themselves. Where no kernel tells how well, two of them may differ by
 * so many ns; they usually do by less than THRUM__WORLD_REALTIME_USUAL. */
#define REALTIME_ERROR INT64_C(2000000000)
/* Some programs that set the clock tell the kernel an error of 0. So where they give no estimate, a clock
 * may be wrong by so many ns more. */
#define REALTIME_UNTOLD INT64_C(100000000)

static bool has_own_clock(const struct thrum_trace_info *info)
{
	return strcmp(info->clock, "tsc") != 0 && strcmp(info->clock, "monotonic") != 0;
}

/* Whether somebody set CLOCK_REALTIME after the recording began: it was wrong until then, whatever the kernel
 * said. */
static bool was_set(const struct thrum_trace_info *info)
{
	return info->start_set > THRUM__WORLD_REALTIME_USUAL ||
		info->start_set < -THRUM__WORLD_REALTIME_USUAL;
}

/* CLOCK_REALTIME when CLOCK_MONOTONIC was 0; 0: unknown. */
static int64_t realtime_start(const struct thrum_trace_info *info)
{
	/* Two of them can be subtracted. */
	const int64_t most = INT64_MAX / 2 - THRUM__WORLD_TIME_MAX;
	bool is_known = info->start > 0 && info->monotonic > 0;

	return is_known && info->start < most && info->monotonic < most
		? info->start - info->monotonic + (was_set(info) ? limit(info->start_set) : 0)
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

/* Whether two recordings of a host count with the same clock: one knows how fast it is from the other.
 * Ticks of CLOCK_MONOTONIC are ns in what is imported, and longer in what was recorded. */
static bool has_same_clock(const struct thrum_trace_info *a, const struct thrum_trace_info *b)
{
	return strcmp(a->clock, b->clock) == 0 && a->clock_frequency / 2 < b->clock_frequency &&
		b->clock_frequency / 2 < a->clock_frequency;
}

/* By how much the clock of the machine that was started as `boot` is ahead of a host's when that one
 * shows `at`. */
static struct thrum__world_bounds ahead(const struct thrum__world_making *m, uint32_t host,
	uint64_t boot, int64_t at)
{
	const struct thrum_trace_info *info = info_of(m, m->paired[host]);
	int64_t between = limit(info->host_ahead), error;
	bool is_damaged = between != info->host_ahead || info->host_error < 0;

	if (info->boot == boot && !has_own_clock(info))
		return (struct thrum__world_bounds){0, 0};
	if (info->host_boot != boot || is_damaged)
		return THRUM__WORLD_UNBOUNDED;
	error = limit(info->host_error) + drift(at - limit(info->host_monotonic));
	return (struct thrum__world_bounds){between - error, between + error};
}

/* By how much the clock of `b` is ahead of that of `a`, if one of them, or a third one that both were
 * compared with, is the machine below. */
static struct thrum__world_bounds compared(const struct thrum__world_making *m, uint32_t a,
	uint32_t b, int64_t at)
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
	return THRUM__WORLD_UNBOUNDED;
}

static void guess_by_realtime(struct thrum__world_making *m, uint32_t host)
{
	const struct thrum_trace_info *first = info_of(m, m->lead[0]);
	const struct thrum_trace_info *info = info_of(m, m->lead[host]);

	m->is_known[host] = realtime_start(first) && realtime_start(info);
	m->realtime[host] = limit(realtime_start(first) - realtime_start(info));
	m->guess[host] = m->is_known[host]
		? m->realtime[host]
		: limit(limit(info->monotonic) - limit(first->monotonic));
	if (!m->is_known[host] || info->start_error <= 0 || was_set(info))
		return;
	m->error[host] = limit(info->start_error);
	m->usual[host] = limit(info->start_estimate);
	if (info->start_estimate <= 0) {
		m->error[host] += REALTIME_UNTOLD;
		m->usual[host] = THRUM__WORLD_REALTIME_USUAL / 2;
	}
}

static void find_machines(struct thrum__world_making *m)
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
		bool is_same = has_same_clock(info_of(m, i), info_of(m, lead));

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

uint32_t thrum__world_host_of(const struct thrum__world_making *m, uint64_t boot)
{
	uint32_t host = 0;

	while (host < m->hosts && (boot == 0 || m->boots[host] != boot))
		host++;
	return host;
}

/* Adds the machines to which pings of hosts lead, as far as there is room. */
static void add_hosts(struct thrum__world_making *m)
{
	for (uint32_t i = 0; i < m->ping_count; i++) {
		const struct thrum__ping *ping = &m->pings[i];

		if (ping->answerer && m->hosts < THRUM__WORLD_HOSTS_MAX &&
			thrum__world_host_of(m, ping->asker) < m->hosts &&
			thrum__world_host_of(m, ping->answerer) == m->hosts)
			m->boots[m->hosts++] = ping->answerer;
	}
}

/* Pings know better than CLOCK_REALTIME how far clocks are apart. */
static void guess_by_pings(struct thrum__world_making *m)
{
	bool is_placed[THRUM__WORLD_HOSTS_MAX] = {true}, is_new = true;

	while (is_new) {
		is_new = false;
		for (uint32_t i = 0; i < m->ping_count; i++) {
			const struct thrum__ping *ping = &m->pings[i];
			uint32_t a = thrum__world_host_of(m, ping->asker),
				 b = thrum__world_host_of(m, ping->answerer);
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

/* By how much the clock of `b` is ahead of that of `a` when this one shows `at`, by CLOCK_REALTIME. */
static struct thrum__world_bounds realtime(const struct thrum__world_making *m, uint32_t a,
	uint32_t b, int64_t at)
{
	int64_t ahead = m->realtime[b] - m->realtime[a], error = REALTIME_ERROR;

	if (!m->is_known[a] || !m->is_known[b])
		return THRUM__WORLD_UNBOUNDED;
	if (m->error[a] && m->error[b])
		error = m->error[a] + m->error[b] +
			drift(at - limit(info_of(m, m->lead[a])->monotonic)) +
			drift(at + ahead - limit(info_of(m, m->lead[b])->monotonic));
	if (error > REALTIME_ERROR)
		error = REALTIME_ERROR;
	return (struct thrum__world_bounds){ahead - error, ahead + error};
}

struct thrum__world_bounds thrum__world_hosts_compare(const struct thrum__world_making *m,
	uint32_t a, uint32_t b, int64_t at)
{
	struct thrum__world_bounds by = realtime(m, a, b, at);

	/* A machine of pings alone has no part. */
	if (a < m->times->host_count && b < m->times->host_count)
		by = thrum__world_clock_both(compared(m, a, b, at), by);
	return by;
}

void thrum__world_hosts_find(struct thrum__world_making *m)
{
	find_machines(m);
	m->times->host_count = m->hosts;
	if (m->hosts > 1) {
		add_hosts(m);
		guess_by_pings(m);
	}
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
	clock->own = (struct thrum__world_knot){.at = is_known
			? limit(realtime_start(parts[0]) - realtime_start(info))
			: limit(limit(info->monotonic) - limit(parts[0]->monotonic))};
	clock->knots = &clock->own;
	clock->knot_count = 1;
}
