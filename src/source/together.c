/* SPDX-License-Identifier: ISC */
/* Opens several traces as one. */
#include "source/input.h"
#include "world/world.h"

static void close_parts(const struct thrum__world_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		thrum_trace_close(parts[i].trace);
		thrum_trace_close(parts[i].again);
	}
}

int thrum__source_open_together(const char *const *files, size_t count, struct thrum_trace **trace,
	uint64_t *messages, size_t *which, struct thrum_error_info *info)
{
	struct thrum__world_part parts[THRUM__WORLD_PARTS_MAX] = {0};

	*which = count;
	if (count > THRUM__WORLD_PARTS_MAX)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"more than %d traces can't be joined", THRUM__WORLD_PARTS_MAX);
	for (size_t i = 0; i < count; i++) {
		int error = thrum_trace_open(files[i], &parts[i].trace, info);

		parts[i].file = files[i];
		if (!error)
			error = thrum_trace_open(files[i], &parts[i].again, info);
		if (error) {
			*which = i;
			close_parts(parts, i + 1);
			return error;
		}
	}
	return thrum__world_join(parts, count, trace, messages, info);
}
