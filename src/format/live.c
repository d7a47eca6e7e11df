/* SPDX-License-Identifier: ISC */
/* Copies live tasks while the recorder writes them. */
#include <string.h>

#include "format/packet.h"

void thrum__format_settle_live_task(struct thrum__live_task *cell,
	const struct thrum__live_task *before, const struct thrum__live_task *after)
{
	bool same = before->waiting == after->waiting && before->waited == after->waited &&
		before->waiting_lane == after->waiting_lane;

	if (same && cell->waiting == before->waiting && cell->waited == before->waited)
		return;
	/* The recorder writes a wait word by word. Half of one wait and half of another would make
	 * a wait that never happened. */
	cell->waiting = 0;
	cell->waited = 0;
}

/* Whether none of these cells has a task. */
static bool are_free(const struct thrum__live_task *cells, size_t count)
{
	uint32_t tags = 0;

	for (size_t i = 0; i < count; i++)
		tags |= cells[i].tag;
	return tags == 0;
}

int64_t thrum__format_live_read(const struct thrum__input *input,
	const struct thrum__header *header, uint64_t first, struct thrum__live_task *cells,
	uint64_t count)
{
	struct thrum__live_task before[THRUM__LIVE_READ_MAX], after[THRUM__LIVE_READ_MAX];
	struct thrum__live_task *copies[] = {cells, cells, after};
	uint64_t offset = header->live_tasks.offset + first * sizeof *cells;
	size_t left = count < THRUM__LIVE_READ_MAX ? (size_t)count : THRUM__LIVE_READ_MAX;

	for (size_t i = 0; i < 3; i++) {
		int64_t got = thrum__format_input_read(input, offset, copies[i],
			left * sizeof *cells);

		if (got < 0)
			return got;
		if ((size_t)got / sizeof *cells < left)
			left = (size_t)got / sizeof *cells;
		/* Most of the table is free, and a task that comes now doesn't count. */
		if (i == 0 && are_free(cells, left))
			return (int64_t)left;
		if (i == 0)
			memcpy(before, cells, left * sizeof *cells);
		/* Partner: the release store of the tag. */
		atomic_thread_fence(memory_order_acquire);
	}
	for (size_t i = 0; i < left; i++) {
		if (before[i].tag != cells[i].tag || after[i].tag != cells[i].tag)
			cells[i].tag = 0;
		thrum__format_settle_live_task(&cells[i], &before[i], &after[i]);
	}
	return (int64_t)left;
}
