/* SPDX-License-Identifier: ISC */
/* The tree of a track's gaps, sums of lengths, and searching. */
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

void *thrum__index_allocate(uint64_t count, size_t size)
{
	return count >= SIZE_MAX / size ? NULL : malloc((size_t)(count + 1) * size);
}

/* The new part isn't touched: pages that nobody uses cost nothing. */
static int lengthen(void **array, uint64_t count, size_t size)
{
	void *grown = count < SIZE_MAX / size ? realloc(*array, (size_t)(count + 1) * size) : NULL;

	if (!grown)
		return -THRUM_E_MEMORY;
	*array = grown;
	return 0;
}

int thrum__index_extend(void **array, uint64_t old, uint64_t count, size_t size)
{
	int error = lengthen(array, count, size);

	if (!error)
		memset((char *)*array + old * size, 0, (size_t)(count + 1 - old) * size);
	return error;
}

void thrum__index_column_finish(struct thrum__index_column *track)
{
	free(track->row);
	free(track->slot);
	free(track->start);
	free(track->end);
	free(track->item);
	free(track->before);
	for (unsigned i = 0; i < track->gap_levels; i++)
		free(track->gap[i]);
	for (unsigned i = 0; i < track->levels; i++) {
		free(track->level[i].block);
		free(track->level[i].sums);
	}
}

size_t thrum__index_column_memory(const struct thrum__index_column *track)
{
	size_t position = sizeof(*track->start) + (track->item ? sizeof(*track->item) : 0) +
		(track->end ? sizeof(*track->end) : 0);
	size_t sum = (size_t)track->room * position +
		track->row_room * (sizeof(*track->row) + (track->slot ? sizeof(*track->slot) : 0));

	sum += ((size_t)track->room >> THRUM__FAN_SHIFT) * sizeof(int64_t) * (track->end ? 2 : 1);
	for (unsigned i = 0; i < track->levels; i++)
		sum += track->level[i].block_room * sizeof(struct thrum__row_block) +
			track->level[i].room * sizeof(struct thrum__sum);
	return sum;
}

/* ---- Gaps ------------------------------------------------------------------------------------ */

static uint32_t nodes_of(uint32_t room, unsigned level)
{
	for (unsigned i = 0; i <= level; i++)
		room = (uint32_t)(((uint64_t)room + THRUM__FAN_MASK) >> THRUM__FAN_SHIFT);
	return room;
}

static int64_t gap_behind(const struct thrum__index_column *track, uint32_t i)
{
	return track->start[i + 1] - thrum__index_column_end(track, i);
}

/* The gaps behind positions from … to - 1, as far as a lowest node has them. */
static void widen_node(struct thrum__index_column *track, uint32_t from, uint32_t to)
{
	int64_t *node = &track->gap[0][from >> THRUM__FAN_SHIFT], wide = *node;

	for (; from < to; from++) {
		int64_t gap = gap_behind(track, from);

		wide = gap > wide ? gap : wide;
	}
	*node = wide;
}

/* Makes the lowest nodes of the gaps behind positions from … to - 1, to which their row goes. Those
 * that other rows, or what nobody uses yet, have a part of keep what was there once: a gap that is
 * too wide costs searching some steps only. */
static void redo_lowest(struct thrum__index_column *track, uint32_t from, uint32_t to)
{
	for (uint32_t next; from < to; from = next) {
		next = (from | THRUM__FAN_MASK) + 1;
		if ((from & THRUM__FAN_MASK) == 0 && next <= to)
			track->gap[0][from >> THRUM__FAN_SHIFT] = 0;
		widen_node(track, from, next <= to ? next : to);
	}
}

/* Makes the nodes a … b of a level that isn't the lowest. */
static void redo_level(struct thrum__index_column *track, unsigned level, uint32_t a, uint32_t b)
{
	uint32_t below = nodes_of(track->room, level - 1);

	for (uint32_t node = a; node <= b; node++) {
		uint32_t i = node << THRUM__FAN_SHIFT;
		uint32_t end = below - i < THRUM__FAN ? below : i + THRUM__FAN;
		int64_t wide = 0;

		for (; i < end; i++)
			wide = track->gap[level - 1][i] > wide ? track->gap[level - 1][i] : wide;
		track->gap[level][node] = wide;
	}
}

void thrum__index_column_redo_gaps(struct thrum__index_column *track, uint32_t from, uint32_t to)
{
	redo_lowest(track, from, to);
	if (from >= to)
		return;
	from >>= THRUM__FAN_SHIFT;
	to = (to - 1) >> THRUM__FAN_SHIFT;
	for (unsigned level = 1; level < track->gap_levels; level++) {
		from >>= THRUM__FAN_SHIFT;
		to >>= THRUM__FAN_SHIFT;
		redo_level(track, level, from, to);
	}
}

void thrum__index_column_widen(struct thrum__index_column *track, uint32_t position)
{
	int64_t gap = gap_behind(track, position);

	for (unsigned level = 0; level < track->gap_levels; level++) {
		position >>= THRUM__FAN_SHIFT;
		if (track->gap[level][position] >= gap)
			return;
		track->gap[level][position] = gap;
	}
}

uint32_t thrum__index_column_gap(const struct thrum__index_column *track, uint32_t position,
	uint32_t end, int64_t gap)
{
	unsigned level = 0; /* 0: single positions; else nodes of track->gap[level - 1] */
	uint64_t i = position;

	for (;;) {
		if (i << level * THRUM__FAN_SHIFT >= end - 1)
			return end - 1;
		int64_t wide = level
			? track->gap[level - 1][i]
			: track->start[i + 1] - thrum__index_column_end(track, (uint32_t)i);

		if (wide >= gap) {
			if (level == 0)
				return (uint32_t)i;
			level--;
			i <<= THRUM__FAN_SHIFT;
			continue;
		}
		i++;
		if ((i & THRUM__FAN_MASK) == 0 && level < track->gap_levels) {
			level++;
			i >>= THRUM__FAN_SHIFT;
		}
	}
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Sums of what is damaged may be anything, but nothing undefined. */
static uint64_t lengths(const struct thrum__index_column *track, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (; from < to; from++)
		sum += (uint64_t)(track->end[from] - track->start[from]);
	return sum;
}

/* The sums of a row behind a position. */
static void redo_sums(struct thrum__index_column *track, const struct thrum__extent *row,
	uint32_t from)
{
	uint32_t at = ((from > row->first ? from : row->first) | THRUM__FAN_MASK) + 1;

	for (; at > row->first && at < row->last; at += THRUM__FAN) {
		uint32_t last = at - THRUM__FAN;
		uint64_t sum = last > row->first && at > THRUM__FAN
			? (uint64_t)track->before[last >> THRUM__FAN_SHIFT] +
				lengths(track, last, at)
			: lengths(track, row->first, at);

		track->before[at >> THRUM__FAN_SHIFT] = (int64_t)sum;
	}
}

int64_t thrum__index_column_busy(const struct thrum__index_column *track, uint32_t from,
	uint32_t to)
{
	if (from >= to)
		return 0;
	uint32_t a = (from | THRUM__FAN_MASK) + 1, b = (to - 1) & ~THRUM__FAN_MASK;

	if (a >= b || a == 0)
		return (int64_t)lengths(track, from, to);
	return (int64_t)(lengths(track, from, a) + (uint64_t)track->before[b >> THRUM__FAN_SHIFT] -
		(uint64_t)track->before[a >> THRUM__FAN_SHIFT] + lengths(track, b, to));
}

/* ---- All ------------------------------------------------------------------------------------- */

int thrum__index_column_grow(struct thrum__index_column *track, uint64_t count)
{
	uint32_t old = track->room;
	uint64_t room = (uint64_t)old + old / 2;
	void *start = track->start, *end = track->end, *item = track->item, *before = track->before;
	unsigned level = 0;

	if (count <= old)
		return 0;
	room = room < count ? count : room;
	room = room < 256 ? 256 : room;
	if (room >= UINT32_MAX - THRUM__FAN)
		return -THRUM_E_MEMORY;
	int error = lengthen(&start, room, sizeof(*track->start));

	if (!error && item)
		error = lengthen(&item, room, sizeof(*track->item));
	if (!error && end)
		error = lengthen(&end, room, sizeof(*track->end));
	if (!error && end)
		error = lengthen(&before, (room >> THRUM__FAN_SHIFT) + 1, sizeof(*track->before));
	track->start = start;
	track->end = end;
	track->item = item;
	track->before = before;
	for (; !error && (level == 0 || nodes_of((uint32_t)room, level - 1) > 1); level++) {
		void *gap = track->gap[level];

		error = thrum__index_extend(&gap,
			level < track->gap_levels ? nodes_of(old, level) : 0,
			nodes_of((uint32_t)room, level), sizeof(*track->gap[level]));
		track->gap[level] = gap;
	}
	if (error)
		return error;
	track->room = (uint32_t)room;
	for (; track->gap_levels < level; track->gap_levels++)
		if (track->gap_levels > 0)
			redo_level(track, track->gap_levels, 0,
				nodes_of(track->room, track->gap_levels) - 1);
	return 0;
}

void thrum__index_column_redo(struct thrum__index_column *track, uint32_t row, uint32_t from)
{
	const struct thrum__extent *extent = &track->row[row];
	uint32_t before = from > extent->first ? from - 1 : from;

	if (extent->first >= extent->last)
		return;
	if (track->end)
		redo_sums(track, extent, before);
	if (before + 2 == extent->last)
		thrum__index_column_widen(track, before);
	else
		thrum__index_column_redo_gaps(track, before, extent->last - 1);
}

void thrum__index_column_follow(struct thrum__index_column *track, uint32_t row, uint32_t from)
{
	const struct thrum__extent *extent = &track->row[row];
	uint32_t before = from > extent->first ? from - 1 : from;

	if (track->end)
		redo_sums(track, extent, before);
	for (uint32_t i = before; i + 1 < extent->last; i++)
		thrum__index_column_widen(track, i);
}

int thrum__index_column_index(struct thrum__index_column *track)
{
	uint32_t nodes = 0;

	track->room = track->count;
	for (unsigned level = 0; level == 0 || nodes > 1; level++) {
		void *gap = NULL;

		nodes = nodes_of(track->room, level);
		if (thrum__index_extend(&gap, 0, nodes, sizeof(*track->gap[level])))
			return -THRUM_E_MEMORY;
		track->gap[level] = gap;
		track->gap_levels = level + 1;
	}
	if (track->end)
		track->before = thrum__index_allocate((track->room >> THRUM__FAN_SHIFT) + 1ull,
			sizeof(*track->before));
	if (track->end && !track->before)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < track->rows; i++) {
		const struct thrum__extent *row = &track->row[i];

		if (row->first == row->last)
			continue;
		redo_lowest(track, row->first, row->last - 1);
		if (track->end)
			redo_sums(track, row, row->first);
	}
	for (unsigned level = 1; level < track->gap_levels; level++)
		redo_level(track, level, 0, nodes_of(track->room, level) - 1);
	return 0;
}

static uint32_t first_at(const int64_t *times, uint32_t from, uint32_t to, int64_t time)
{
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (times[middle] < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t thrum__index_column_start_at(const struct thrum__index_column *track, uint32_t from,
	uint32_t to, int64_t time)
{
	return first_at(track->start, from, to, time);
}

uint32_t thrum__index_column_end_at(const struct thrum__index_column *track, uint32_t from,
	uint32_t to, int64_t time)
{
	return first_at(track->end ? track->end : track->start, from, to, time);
}
