/* SPDX-License-Identifier: ISC */
/* Answers the questions to an index that need no walk. */
#include "timeline/index/parts.h"

size_t thrum__index_seek(const struct thrum__index *index, int kind, uint32_t track, int64_t time,
	size_t *end)
{
	const struct thrum__index_column *column = &index->column[kind];

	*end = track < index->tracks ? column->track[track].last : 0;
	return track < index->tracks
		? thrum__index_column_start_at(column, column->track[track].first, *end, time)
		: 0;
}

size_t thrum__index_first(const struct thrum__index *index, int kind, uint32_t track)
{
	return track < index->tracks ? index->column[kind].track[track].first : 0;
}

uint32_t thrum__index_item(const struct thrum__index *index, int kind, size_t position)
{
	return index->column[kind].item[position];
}

int64_t thrum__index_time(const struct thrum__index *index, int kind, size_t position)
{
	return index->column[kind].start[position];
}

/* Whether an item of a track intersects from … to. */
static bool has_item(const struct thrum__index_column *column, uint32_t track, int64_t from,
	int64_t to)
{
	uint32_t end = column->track[track].last;
	uint32_t at = thrum__index_column_end_at(column, column->track[track].first, end, from);

	return at < end && column->start[at] <= to;
}

/* Whether a sum of a block intersects from … to. */
static bool has_sum(const struct thrum__index_level *level, uint32_t block, int64_t from,
	int64_t to)
{
	uint32_t at = level->block[block].first, end = at + level->block[block].count, last = end;

	while (at < last) {
		uint32_t middle = at + (last - at) / 2;

		if (level->sums[middle].end < from)
			at = middle + 1;
		else
			last = middle;
	}
	return at < end && level->sums[at].start <= to;
}

uint32_t thrum__index_next_track(const struct thrum__index *index, uint32_t track, int64_t from,
	int64_t to)
{
	const struct thrum__index_column *column = &index->column[THRUM__INDEX_UNITS];
	unsigned level = 0; /* 0: tracks; else blocks of column->level[level - 1] */
	uint64_t at = track;

	while (at << level * THRUM__FAN_SHIFT < index->tracks) {
		uint32_t node = (uint32_t)at;
		bool is_used = level ? has_sum(&column->level[level - 1], node, from, to)
				     : has_item(column, node, from, to);

		if (is_used && level == 0)
			return node;
		if (is_used) {
			level--;
			at <<= THRUM__FAN_SHIFT;
			continue;
		}
		at++;
		if (at % THRUM__FAN == 0 && level < column->levels) {
			level++;
			at >>= THRUM__FAN_SHIFT;
		}
	}
	return index->tracks;
}

bool thrum__index_is_loud(const struct thrum__index *index, uint32_t track, int64_t from,
	int64_t to)
{
	const struct thrum__index_column *units = &index->column[THRUM__INDEX_UNITS];

	if (track >= index->tracks || !has_item(units, track, from, to))
		return false;
	if (index->wanted[track / 8] & 1u << track % 8)
		return true;
	uint32_t end = units->track[track].last;
	uint32_t at = thrum__index_column_end_at(units, units->track[track].first, end, from);

	/* A unit that lasts to the end of the trace doesn't end there. */
	if (units->start[at] >= from || (units->end[at] <= to && units->end[at] < index->end))
		return true;
	return has_item(&index->column[THRUM__INDEX_RUNS], track, from, to) ||
		has_item(&index->column[THRUM__INDEX_EDGES], track, from, to) ||
		has_item(&index->column[THRUM__INDEX_NOTES], track, from, to);
}

void thrum__index_idle(const struct thrum__index *index, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context)
{
	const struct thrum__index_column *all = &index->all;
	uint32_t last = all->track[0].last;
	uint32_t at = thrum__index_column_end_at(all, all->track[0].first, last, from);
	int64_t start = from = thrum__base_time_clamp(from);

	to = thrum__base_time_clamp(to);
	if (gap < 1)
		gap = 1;
	for (;;) {
		int64_t next = at < last ? all->start[at] : INT64_MAX, end;
		bool is_open = index->since <= next && index->since < INT64_MAX;

		next = is_open ? index->since : next;
		end = next < to ? next : to;
		if (end > start && end - start >= gap && !found(context, start, end))
			return;
		if (next >= to)
			return;
		if (is_open)
			break;
		at = thrum__index_column_gap(all, at, last, gap);
		start = all->end[at] > start ? all->end[at] : start;
		at++;
	}
	start = index->end > start ? index->end : start;
	if (to > start && to - start >= gap)
		found(context, start, to);
}

void thrum__index_idle_around(const struct thrum__index *index, int64_t time, int64_t *start,
	int64_t *end)
{
	const struct thrum__index_column *all = &index->all;
	uint32_t first = all->track[0].first, last = all->track[0].last;
	uint32_t at = thrum__index_column_end_at(all, first, last, time);

	*start = at > first ? all->end[at - 1] : INT64_MIN;
	if (at < last && all->start[at] < time)
		*start = time;
	while (at < last && all->end[at] <= time)
		at++;
	*end = at < last ? all->start[at] : INT64_MAX;
	if (index->since < *end)
		*end = index->since;
	if (index->since < time)
		*start = index->end < time ? index->end : time;
	if (*end <= time)
		*end = index->since < time && index->end <= time ? INT64_MAX : time;
}

int64_t thrum__index_busy(const struct thrum__index *index, int64_t from, int64_t to)
{
	const struct thrum__index_column *all = &index->all;
	int64_t until = to < index->since ? to : index->since, busy = 0;
	uint32_t at = thrum__index_column_end_at(all, all->track[0].first, all->track[0].last,
		from);
	uint32_t end = thrum__index_column_start_at(all, at, all->track[0].last, until);

	if (at < end && from < until) {
		busy = thrum__index_column_busy(all, at, end);
		if (all->start[at] < from)
			busy -= from - all->start[at];
		if (all->end[end - 1] > until)
			busy -= all->end[end - 1] - until;
	}
	from = from > index->since ? from : index->since;
	to = to < index->end ? to : index->end;
	return from < to ? busy + to - from : busy;
}

uint32_t thrum__index_alive(const struct thrum__index *index, int64_t time)
{
	uint32_t ended = time > INT64_MIN ? thrum__index_times_until(&index->ends, time - 1) : 0;

	if (time > index->end)
		ended += index->lasting;
	return index->older + thrum__index_times_until(&index->starts, time) - ended;
}

uint32_t thrum__index_alive_in(const struct thrum__index *index, int64_t from, int64_t to)
{
	return thrum__index_alive(index, from) + thrum__index_times_until(&index->starts, to) -
		thrum__index_times_until(&index->starts, from);
}
