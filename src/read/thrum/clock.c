/* SPDX-License-Identifier: ISC */
/* The recording's clock: from ticks to ns, and which times are plausible. */
#include <string.h>

#include "format/packet.h"
#include "read/thrum/reader.h"

#define SLACK_S 10 /* seconds that an event may lie beyond the last reading of the clock */
/* ns between two readings that give a frequency worth more than the header's */
#define DISTANCE_MIN 100000000u
#define TRIES 3

/* One reading, under its ticket. False: there is none, or it changes all the time. */
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

/* The newer one of the two. */
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

static void set_scale(struct clock *clock, double ns_per_tick)
{
	/* A hair more, so that whole ns don't come out as one less: 0.2 ns in ten days. */
	double scaled = ns_per_tick * (1 + 0x1p-52);
	unsigned shift = 64;

	/* As many bits as a signed 64-bit factor takes. */
	while (shift > 0 && scaled < 0x1p61) {
		scaled *= 2;
		shift--;
	}
	clock->ns_per_tick = ns_per_tick;
	clock->multiplier = (uint64_t)scaled;
	clock->shift = shift;
}

/* A factor that two readings give, if it is not absurd; else that of the header. */
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
	if (has_start && has_latest)
		scale = measured_scale(&start, &latest, scale);
	set_scale(clock, scale);
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

	if (ticks < clock->first)
		return false;
	if (ticks <= last || ticks - last <= clock->slack)
		return true;
	if (ticks <= clock->latest || ticks - clock->latest <= clock->slack)
		return true;
	/* It may have been recorded since we looked. */
	thrum__read_clock_update(r);
	return ticks <= clock->latest || ticks - clock->latest <= clock->slack;
}
