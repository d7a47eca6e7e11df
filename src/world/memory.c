/* SPDX-License-Identifier: ISC */
/* Opens a trace that lies in memory. */
#include <stdlib.h>
#include <string.h>

#include "world/bundle.h"

static int64_t memory_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct thrum__read_memory *memory = owner;

	if (offset >= memory->size)
		return 0;
	if (size > memory->size - offset)
		size = memory->size - (size_t)offset;
	memcpy(to, memory->bytes + offset, size);
	return (int64_t)size;
}

static uint64_t memory_size(void *owner)
{
	return ((const struct thrum__read_memory *)owner)->size;
}

struct thrum__input thrum__read_memory_input(struct thrum__read_memory *memory)
{
	return (struct thrum__input){memory, memory_read, memory_size};
}

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
