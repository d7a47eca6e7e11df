/* SPDX-License-Identifier: ISC */
#include "times.h"

int times_check(const struct command *command, struct times *times)
{
	if (times->duration < 0)
		return complain_usage(command, "--duration can't be negative");
	if (times->duration < INT64_MAX) {
		int64_t start = times->start > INT64_MIN ? times->start : 0;

		if (times->end < INT64_MAX)
			return complain_usage(command, "give --duration or --end, not both");
		if (__builtin_add_overflow(start, times->duration, &times->end))
			times->end = INT64_MAX;
	}
	if (times->start > INT64_MIN && times->end < times->start)
		return complain_usage(command, "--end comes before --start");
	return STATUS_OK;
}

/* The clock so many ns after the first event. */
static uint64_t ticks_after(const struct thrum_trace_info *info, int64_t ns)
{
	double ticks = ns > 0 ? (double)ns * ((double)info->clock_frequency / 1e9) : 0;

	if (!(ticks < 9e18) || (uint64_t)ticks > UINT64_MAX - info->clock_first)
		return UINT64_MAX;
	return info->clock_first + (uint64_t)ticks;
}

void times_in_ticks(const struct times *times, const struct thrum_trace_info *info, uint64_t *from,
	uint64_t *until)
{
	*from = ticks_after(info, times->start);
	*until = ticks_after(info, times->end);
}
