/* SPDX-License-Identifier: ISC */
/* The gaps and sums of a column: its tree of the widest gaps between items, its running sums of
 * durations, and searches by time. */
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

void *thrum__index_allocate(uint64_t count, size_t size)
{
	return count >= SIZE_MAX / size ? NULL : malloc((size_t)(count + 1) * size);
}

/* Leaves the new part untouched: pages that nobody uses cost nothing. */
static int lengthen_array(void **array, uint64_t count, size_t size)
{
	void *grown = count < SIZE_MAX / size ? realloc(*array, (size_t)(count + 1) * size) : NULL;

	if (!grown)
		return -THRUM_E_MEMORY;
	*array = grown;
	return 0;
}

int thrum__index_extend(void **array, uint64_t old, uint64_t count, size_t size)
{
	int error = lengthen_array(array, count, size);

	if (!error)
		memset((char *)*array + old * size, 0, (size_t)(count + 1 - old) * size);
	return error;
}

void thrum__index_column_finish(struct thrum__index_column *column)
{
	free(column->track);
	free(column->slot);
	free(column->start);
	free(column->end);
	free(column->item);
	free(column->before);
	for (unsigned i = 0; i < column->gap_levels; i++)
		free(column->gap[i]);
	for (unsigned i = 0; i < column->levels; i++) {
		free(column->level[i].block);
		free(column->level[i].sums);
	}
}

size_t thrum__index_column_memory(const struct thrum__index_column *column)
{
	size_t position = sizeof(*column->start) + (column->item ? sizeof(*column->item) : 0) +
		(column->end ? sizeof(*column->end) : 0);
	size_t sum = (size_t)column->room * position +
		column->track_room *
			(sizeof(*column->track) + (column->slot ? sizeof(*column->slot) : 0));

	sum += ((size_t)column->room >> THRUM__FAN_SHIFT) * sizeof(int64_t) * (column->end ? 2 : 1);
	for (unsigned i = 0; i < column->levels; i++)
		sum += column->level[i].block_room * sizeof(struct thrum__index_block) +
			column->level[i].room * sizeof(struct thrum__index_sum);
	return sum;
}

/* ---- Gaps ------------------------------------------------------------------------------------ */

/* How many nodes a level of the tree has over `room` positions. */
static uint32_t nodes_of(uint32_t room, unsigned level)
{
	for (unsigned i = 0; i <= level; i++)
		room = (uint32_t)(((uint64_t)room + THRUM__FAN_MASK) >> THRUM__FAN_SHIFT);
	return room;
}

/* How long nothing is between an item and the next one of its track, in ns. */
static int64_t gap_behind(const struct thrum__index_column *column, uint32_t i)
{
	return column->start[i + 1] - thrum__index_column_end(column, i);
}

/* Widens a lowest node by the gaps behind positions from … to - 1, all of which it covers. */
static void widen_node(struct thrum__index_column *column, uint32_t from, uint32_t to)
{
	int64_t *node = &column->gap[0][from >> THRUM__FAN_SHIFT], wide = *node;

	for (; from < to; from++) {
		int64_t gap = gap_behind(column, from);

		wide = gap > wide ? gap : wide;
	}
	*node = wide;
}

/* Makes the lowest nodes over the gaps behind positions from … to - 1; `to` is of the same track. A
 * node that also covers positions of other tracks, or unused ones, only widens: a node that is too
 * wide costs a search some steps and nothing more. */
static void redo_lowest(struct thrum__index_column *column, uint32_t from, uint32_t to)
{
	for (uint32_t next; from < to; from = next) {
		next = (from | THRUM__FAN_MASK) + 1;
		if ((from & THRUM__FAN_MASK) == 0 && next <= to)
			column->gap[0][from >> THRUM__FAN_SHIFT] = 0;
		widen_node(column, from, next <= to ? next : to);
	}
}

/* Makes the nodes a … b of a level above the lowest. */
static void redo_level(struct thrum__index_column *column, unsigned level, uint32_t a, uint32_t b)
{
	uint32_t below = nodes_of(column->room, level - 1);

	for (uint32_t node = a; node <= b; node++) {
		uint32_t i = node << THRUM__FAN_SHIFT;
		uint32_t end = below - i < THRUM__FAN ? below : i + THRUM__FAN;
		int64_t wide = 0;

		for (; i < end; i++)
			wide = column->gap[level - 1][i] > wide ? column->gap[level - 1][i] : wide;
		column->gap[level][node] = wide;
	}
}

void thrum__index_column_redo_gaps(struct thrum__index_column *column, uint32_t from, uint32_t to)
{
	redo_lowest(column, from, to);
	if (from >= to)
		return;
	from >>= THRUM__FAN_SHIFT;
	to = (to - 1) >> THRUM__FAN_SHIFT;
	for (unsigned level = 1; level < column->gap_levels; level++) {
		from >>= THRUM__FAN_SHIFT;
		to >>= THRUM__FAN_SHIFT;
		redo_level(column, level, from, to);
	}
}

void thrum__index_column_widen(struct thrum__index_column *column, uint32_t position)
{
	int64_t gap = gap_behind(column, position);

	for (unsigned level = 0; level < column->gap_levels; level++) {
		position >>= THRUM__FAN_SHIFT;
		if (column->gap[level][position] >= gap)
			return;
		column->gap[level][position] = gap;
	}
}

uint32_t thrum__index_column_gap(const struct thrum__index_column *column, uint32_t position,
	uint32_t end, int64_t gap)
{
	unsigned level = 0; /* 0: single positions; else nodes of column->gap[level - 1] */
	uint64_t i = position;

	for (;;) {
		if (i << level * THRUM__FAN_SHIFT >= end - 1)
			return end - 1;
		int64_t wide = level
			? column->gap[level - 1][i]
			: column->start[i + 1] - thrum__index_column_end(column, (uint32_t)i);

		if (wide >= gap) {
			if (level == 0)
				return (uint32_t)i;
			level--;
			i <<= THRUM__FAN_SHIFT;
			continue;
		}
		i++;
		if ((i & THRUM__FAN_MASK) == 0 && level < column->gap_levels) {
			level++;
			i >>= THRUM__FAN_SHIFT;
		}
	}
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Returns the sum of the durations. It may be anything in damaged traces, but never undefined: so
 * it is unsigned. */
static uint64_t sum_durations(const struct thrum__index_column *column, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (; from < to; from++)
		sum += (uint64_t)(column->end[from] - column->start[from]);
	return sum;
}

/* Makes the sums of a track behind position `from`. */
static void redo_sums(struct thrum__index_column *column, const struct thrum__index_extent *track,
	uint32_t from)
{
	uint32_t at = ((from > track->first ? from : track->first) | THRUM__FAN_MASK) + 1;

	for (; at > track->first && at < track->last; at += THRUM__FAN) {
		uint32_t last = at - THRUM__FAN;
		uint64_t sum = last > track->first && at > THRUM__FAN
			? (uint64_t)column->before[last >> THRUM__FAN_SHIFT] +
				sum_durations(column, last, at)
			: sum_durations(column, track->first, at);

		column->before[at >> THRUM__FAN_SHIFT] = (int64_t)sum;
	}
}

int64_t thrum__index_column_busy(const struct thrum__index_column *column, uint32_t from,
	uint32_t to)
{
	if (from >= to)
		return 0;
	uint32_t a = (from | THRUM__FAN_MASK) + 1, b = (to - 1) & ~THRUM__FAN_MASK;

	if (a >= b || a == 0)
		return (int64_t)sum_durations(column, from, to);
	return (int64_t)(sum_durations(column, from, a) +
		(uint64_t)column->before[b >> THRUM__FAN_SHIFT] -
		(uint64_t)column->before[a >> THRUM__FAN_SHIFT] + sum_durations(column, b, to));
}

/* ---- The whole column ------------------------------------------------------------------------ */

int thrum__index_column_grow(struct thrum__index_column *column, uint64_t count)
{
	uint32_t old = column->room;
	uint64_t room = (uint64_t)old + old / 2;
	void *start = column->start, *end = column->end, *item = column->item,
	     *before = column->before;
	unsigned level = 0;

	if (count <= old)
		return 0;
	room = room < count ? count : room;
	room = room < 256 ? 256 : room;
	if (room >= UINT32_MAX - THRUM__FAN)
		return -THRUM_E_MEMORY;
	int error = lengthen_array(&start, room, sizeof(*column->start));

	if (!error && item)
		error = lengthen_array(&item, room, sizeof(*column->item));
	if (!error && end)
		error = lengthen_array(&end, room, sizeof(*column->end));
	if (!error && end)
		error = lengthen_array(&before, (room >> THRUM__FAN_SHIFT) + 1,
			sizeof(*column->before));
	column->start = start;
	column->end = end;
	column->item = item;
	column->before = before;
	for (; !error && (level == 0 || nodes_of((uint32_t)room, level - 1) > 1); level++) {
		void *gap = column->gap[level];

		error = thrum__index_extend(&gap,
			level < column->gap_levels ? nodes_of(old, level) : 0,
			nodes_of((uint32_t)room, level), sizeof(*column->gap[level]));
		column->gap[level] = gap;
	}
	if (error)
		return error;
	column->room = (uint32_t)room;
	for (; column->gap_levels < level; column->gap_levels++)
		if (column->gap_levels > 0)
			redo_level(column, column->gap_levels, 0,
				nodes_of(column->room, column->gap_levels) - 1);
	return 0;
}

void thrum__index_column_redo(struct thrum__index_column *column, uint32_t track, uint32_t from)
{
	const struct thrum__index_extent *extent = &column->track[track];
	uint32_t before = from > extent->first ? from - 1 : from;

	if (extent->first >= extent->last)
		return;
	if (column->end)
		redo_sums(column, extent, before);
	if (before + 2 == extent->last)
		thrum__index_column_widen(column, before);
	else
		thrum__index_column_redo_gaps(column, before, extent->last - 1);
}

void thrum__index_column_follow(struct thrum__index_column *column, uint32_t track, uint32_t from)
{
	const struct thrum__index_extent *extent = &column->track[track];
	uint32_t before = from > extent->first ? from - 1 : from;

	if (column->end)
		redo_sums(column, extent, before);
	for (uint32_t i = before; i + 1 < extent->last; i++)
		thrum__index_column_widen(column, i);
}

int thrum__index_column_summarize(struct thrum__index_column *column)
{
	uint32_t nodes = 0;

	column->room = column->count;
	for (unsigned level = 0; level == 0 || nodes > 1; level++) {
		void *gap = NULL;

		nodes = nodes_of(column->room, level);
		if (thrum__index_extend(&gap, 0, nodes, sizeof(*column->gap[level])))
			return -THRUM_E_MEMORY;
		column->gap[level] = gap;
		column->gap_levels = level + 1;
	}
	if (column->end)
		column->before = thrum__index_allocate((column->room >> THRUM__FAN_SHIFT) + 1ull,
			sizeof(*column->before));
	if (column->end && !column->before)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < column->tracks; i++) {
		const struct thrum__index_extent *track = &column->track[i];

		if (track->first == track->last)
			continue;
		redo_lowest(column, track->first, track->last - 1);
		if (column->end)
			redo_sums(column, track, track->first);
	}
	for (unsigned level = 1; level < column->gap_levels; level++)
		redo_level(column, level, 0, nodes_of(column->room, level) - 1);
	return 0;
}

/* Returns the first index in from … to - 1 of a time at or after `time`; or `to`. */
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

uint32_t thrum__index_column_start_at(const struct thrum__index_column *column, uint32_t from,
	uint32_t to, int64_t time)
{
	return first_at(column->start, from, to, time);
}

uint32_t thrum__index_column_end_at(const struct thrum__index_column *column, uint32_t from,
	uint32_t to, int64_t time)
{
	return first_at(column->end ? column->end : column->start, from, to, time);
}
