/* SPDX-License-Identifier: ISC */
/* Chooses a time within the bounds of each clock. */
#include "world/making.h"

/* By how far from a bound a clock that it alone holds stays: messages bound clocks most at their own
 * times. */
static int64_t margin(const struct thrum__world_making *m)
{
	return drift(m->every) + THRUM__WORLD_MESSAGE_LEAST;
}

/* Whether the middle of its bounds tells a clock better than CLOCK_REALTIME does. */
static bool is_narrow(const struct thrum__world_making *m, uint32_t host,
	struct thrum__world_bounds bounds)
{
	int64_t usual = m->usual[0] && m->usual[host] ? m->usual[0] + m->usual[host]
						      : THRUM__WORLD_REALTIME_USUAL;

	return is_bounded(bounds) &&
		(!m->is_known[host] || (bounds.high - bounds.low) / 2 <= larger(usual, margin(m)));
}

/* The clock of a host less that of host 0, by CLOCK_REALTIME or as near to it as its bounds allow. */
static int64_t nearest(const struct thrum__world_making *m, uint32_t host,
	struct thrum__world_bounds bounds)
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

int64_t thrum__world_estimate(const struct thrum__world_making *m, uint32_t host,
	struct thrum__world_bounds bounds)
{
	return is_narrow(m, host, bounds) ? middle(bounds) : nearest(m, host, bounds);
}

/* Whether a clock that is ahead of another one by so much keeps away from the bounds of that. */
static bool is_well_inside(const struct thrum__world_making *m, struct thrum__world_bounds bounds,
	int64_t ahead)
{
	int64_t inside = margin(m);

	if (is_bounded(bounds) && (bounds.high - bounds.low) / 2 < inside)
		inside = (bounds.high - bounds.low) / 2;
	return (bounds.low == INT64_MIN || ahead >= bounds.low + inside) &&
		(bounds.high == INT64_MAX || ahead <= bounds.high - inside);
}

/* Narrows the bounds of a clock to those that another one's estimate leaves it. */
static struct thrum__world_bounds beside(struct thrum__world_bounds left, int64_t other,
	struct thrum__world_bounds ahead)
{
	if (ahead.low != INT64_MIN)
		left.low = larger(left.low, other + ahead.low);
	if (ahead.high != INT64_MAX && other + ahead.high < left.high)
		left.high = other + ahead.high;
	return left;
}

/* The bounds that the estimates of some clocks leave another one. All paths were gone, so no more than this
 * follows. */
static struct thrum__world_bounds left_by(const struct thrum__world_making *m, const int64_t *most,
	uint32_t host, const bool *is_placed, const int64_t *at)
{
	struct thrum__world_bounds left = THRUM__WORLD_UNBOUNDED;

	for (uint32_t i = 0; i < m->hosts; i++)
		if (is_placed[i])
			left = beside(left, at[i],
				thrum__world_clock_ahead(most, m->hosts, i, host));
	/* Middles of bounds are rounded. */
	if (left.low > left.high)
		left.low = left.high;
	return left;
}

void thrum__world_estimate_all(const struct thrum__world_making *m, const int64_t *most,
	int64_t *at)
{
	bool is_placed[THRUM__WORLD_HOSTS_MAX], agrees = true;

	for (uint32_t i = 0; i < m->hosts; i++) {
		struct thrum__world_bounds bounds = thrum__world_clock_ahead(most, m->hosts, 0, i);

		is_placed[i] = is_narrow(m, i, bounds);
		at[i] = thrum__world_estimate(m, i, bounds);
	}
	for (uint32_t a = 0; a < m->hosts; a++)
		for (uint32_t b = 0; b < a; b++)
			if (!is_placed[a] || !is_placed[b])
				agrees &= is_well_inside(m,
					thrum__world_clock_ahead(most, m->hosts, a, b),
					at[b] - at[a]);
	if (agrees)
		return;
	for (uint32_t i = 0; i < m->hosts; i++) {
		if (is_placed[i])
			continue;
		at[i] = nearest(m, i, left_by(m, most, i, is_placed, at));
		is_placed[i] = true;
	}
}
