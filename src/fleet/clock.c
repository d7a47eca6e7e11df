/* SPDX-License-Identifier: ISC */
/* A recording's ticks and the time of day. */
#include "format/clock.h"
#include "fleet/parts.h"

#define SECOND UINT64_C(1000000000)

static uint64_t frequency_of(const struct thrum__header *header)
{
	struct thrum__metadata clock;

	thrum__format_set_clock(&clock, header);
	return clock.frequency;
}

int64_t thrum__fleet_wall(const struct thrum__header *header, uint64_t ticks)
{
	const struct thrum__reading *start = &header->start;
	bool is_before = ticks < start->ticks;
	uint64_t apart = is_before ? start->ticks - ticks : ticks - start->ticks;
	uint64_t ns = thrum__format_multiply_divide(apart, SECOND, frequency_of(header));

	if (start->realtime > INT64_MAX)
		return 0;
	if (is_before)
		return ns < start->realtime ? (int64_t)(start->realtime - ns) : 0;
	return ns < INT64_MAX - start->realtime ? (int64_t)(start->realtime + ns) : INT64_MAX;
}

uint64_t thrum__fleet_ticks(const struct thrum__header *header, int64_t wall)
{
	const struct thrum__reading *start = &header->start;
	uint64_t time = wall > 0 ? (uint64_t)wall : 0;
	bool is_before = time < start->realtime;
	uint64_t ns = is_before ? start->realtime - time : time - start->realtime;
	uint64_t apart = thrum__format_multiply_divide(ns, frequency_of(header), SECOND);

	if (is_before)
		return apart < start->ticks ? start->ticks - apart : 0;
	return apart < UINT64_MAX - start->ticks ? start->ticks + apart : UINT64_MAX;
}
