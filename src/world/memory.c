/* SPDX-License-Identifier: ISC */
/* Opens a trace that lies in memory. */
#include <stdlib.h>

#include "world/bundle.h"

int thrum_trace_open_memory(const void *bytes, size_t size, struct thrum_trace **trace,
	struct thrum_error_info *info)
{
	struct thrum__read_memory *memory = malloc(sizeof *memory);

	if (!memory)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	*memory = (struct thrum__read_memory){bytes, size};
	struct thrum__input input = thrum__read_memory_input(memory);
	int error = thrum__world_open(&input, free, trace, info);

	if (error)
		free(memory);
	return error;
}
