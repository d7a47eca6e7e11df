/* SPDX-License-Identifier: ISC */
#include "trace/times.h"

#include "trace/input.h"

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

bool times_reach(const struct times *times, const char *path, int64_t end)
{
	if (times->start <= end)
		return true;
	complain("%s: it ends after %.6f s, before that time", input_path(path), (double)end / 1e9);
	return false;
}
