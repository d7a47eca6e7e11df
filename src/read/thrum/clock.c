/* SPDX-License-Identifier: ISC */
/* The recording's clock: converts ticks to ns, and tells which times are plausible. */
#include <string.h>

#include "format/packet.h"
#include "read/thrum/reader.h"

#define SLACK_S 10 /* seconds that an event may lie after the latest reading of the clock */
/* From this many ns between them on, two readings give a better frequency than the header. */
#define DISTANCE_MIN 100000000u
#define TRIES 3

/* Loads a reading whose ticket is the same before and after. False: there is none, or it changed at
 * each try. */
static bool load_reading(const struct reader *r, size_t offset, struct thrum__reading *reading)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before[2], after[2];
		const struct thrum__input *input = &r->trace.input;

		if (thrum__format_input_read(input, offset, before, sizeof before) != sizeof before)
			return false;
		/* Partner: the release store of the ticket. */
		atomic_thread_fence(memory_order_acquire);
		if (thrum__format_input_read(input, offset, reading, sizeof *reading) !=
			sizeof *reading)
			return false;
		atomic_thread_fence(memory_order_acquire);
		if (thrum__format_input_read(input, offset, after, sizeof after) != sizeof after)
			return false;
		if (before[0] == after[0])
			return before[0] != 0;
	}
	return false;
}

/* Loads the newer one of the header's two readings. False: neither can be loaded. */
static bool load_latest(const struct reader *r, struct thrum__reading *latest)
{
	bool found = false;

	for (size_t i = 0; i < 2; i++) {
		struct thrum__reading reading;
		size_t at = offsetof(struct thrum__header, latest) + i * sizeof reading;

		if (!load_reading(r, at, &reading) || (found && reading.ticks < latest->ticks))
			continue;
		memcpy(latest, &reading, sizeof reading);
		found = true;
	}
	return found;
}

/* Sets the members that convert ticks to ns. */
static void set_scale(struct clock *clock, double ns_per_tick)
{
	/* A little more, so that rounding down doesn't turn whole ns into one less. The error is
	 * 0.2 ns in ten days. */
	double scaled = ns_per_tick * (1 + 0x1p-52);
	unsigned shift = 64;

	/* Use as many bits as fit a signed 64-bit factor. */
	while (shift > 0 && scaled < 0x1p61) {
		scaled *= 2;
		shift--;
	}
	clock->ns_per_tick = ns_per_tick;
	clock->multiplier = (uint64_t)scaled;
	clock->shift = shift;
}

/*
 * Returns the ns per tick that two readings give if they are far enough apart and within a factor
 * of 2 of `scale`, which is the header's; else `scale`.
 */
static double measured_scale(const struct thrum__reading *from, const struct thrum__reading *to,
	double scale)
{
	uint64_t ns = to->monotonic - from->monotonic, ticks = to->ticks - from->ticks;

	if (to->ticks <= from->ticks || to->monotonic <= from->monotonic || ns < DISTANCE_MIN)
		return scale;
	double measured = (double)ns / (double)ticks;

	return measured > scale / 2 && measured < scale * 2 ? measured : scale;
}

void thrum__read_clock_init(struct reader *r)
{
	struct clock *clock = &r->clock;
	struct thrum__reading start, latest;
	double scale = 1e9 / (double)r->header.clock_frequency;

	clock->slack = r->header.clock_frequency * SLACK_S;
	clock->latest = UINT64_MAX - clock->slack;
	memcpy(&start, &r->header.start, sizeof start);
	bool has_start = start.ticket != 0, has_latest = load_latest(r, &latest);

	if (has_start) {
		clock->first = start.ticks -
			(start.ticks < clock->slack ? start.ticks : clock->slack);
		clock->latest = start.ticks;
	}
	if (has_latest && latest.ticks >= clock->first)
		clock->latest = latest.ticks;
	if (has_start && has_latest) {
		scale = measured_scale(&start, &latest, scale);
		clock->set = (int64_t)((latest.realtime - latest.monotonic) -
			(start.realtime - start.monotonic));
	}
	set_scale(clock, scale);
	/* In ns since the first time all must fit an int64_t: see clock_ns(). And a compact header
	 * after that mustn't wrap. */
	clock->end = UINT64_MAX - (UINT64_C(1) << THRUM__TIME_BITS);
	uint64_t most = (uint64_t)INT64_MAX >> clock->shift;

	if (clock->end - clock->first > most)
		clock->end = clock->first + most;
	r->trace.info.clock_frequency = (uint64_t)(1e9 / scale + 0.5);
}

void thrum__read_clock_update(struct reader *r)
{
	struct thrum__reading latest;

	if (load_latest(r, &latest) && latest.ticks > r->clock.latest)
		r->clock.latest = latest.ticks;
}

bool thrum__read_clock_is_plausible(struct reader *r, uint64_t ticks, uint64_t last)
{
	const struct clock *clock = &r->clock;

	if (ticks < clock->first || ticks > clock->end)
		return false;
	if (ticks <= last || ticks - last <= clock->slack)
		return true;
	if (ticks <= clock->latest || ticks - clock->latest <= clock->slack)
		return true;
	/* The event may be newer than the reading that we have. */
	thrum__read_clock_update(r);
	return ticks <= clock->latest || ticks - clock->latest <= clock->slack;
}
