/* SPDX-License-Identifier: ISC */
/* What is asked of tracks beside walking. */
#include "timeline/index/parts.h"

size_t thrum__index_seek(const struct thrum__index *tracks, int kind, uint32_t row, int64_t time,
	size_t *end)
{
	const struct thrum__index_column *track = &tracks->track[kind];

	*end = row < tracks->rows ? track->row[row].last : 0;
	return row < tracks->rows
		? thrum__index_column_start_at(track, track->row[row].first, *end, time)
		: 0;
}

size_t thrum__index_first(const struct thrum__index *tracks, int kind, uint32_t row)
{
	return row < tracks->rows ? tracks->track[kind].row[row].first : 0;
}

uint32_t thrum__index_item(const struct thrum__index *tracks, int kind, size_t position)
{
	return tracks->track[kind].item[position];
}

int64_t thrum__index_time(const struct thrum__index *tracks, int kind, size_t position)
{
	return tracks->track[kind].start[position];
}

/* Whether an item of a row lies in from … to. */
static bool has_item(const struct thrum__index_column *track, uint32_t row, int64_t from,
	int64_t to)
{
	uint32_t end = track->row[row].last;
	uint32_t at = thrum__index_column_end_at(track, track->row[row].first, end, from);

	return at < end && track->start[at] <= to;
}

static bool has_sum(const struct thrum__level *level, uint32_t block, int64_t from, int64_t to)
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

uint32_t thrum__index_next_row(const struct thrum__index *tracks, uint32_t row, int64_t from,
	int64_t to)
{
	const struct thrum__index_column *track = &tracks->track[THRUM__INDEX_UNITS];
	unsigned level = 0; /* 0: rows; else blocks of track->level[level - 1] */
	uint64_t at = row;

	while (at << level * THRUM__FAN_SHIFT < tracks->rows) {
		uint32_t node = (uint32_t)at;
		bool is_used = level ? has_sum(&track->level[level - 1], node, from, to)
				     : has_item(track, node, from, to);

		if (is_used && level == 0)
			return node;
		if (is_used) {
			level--;
			at <<= THRUM__FAN_SHIFT;
			continue;
		}
		at++;
		if (at % THRUM__FAN == 0 && level < track->levels) {
			level++;
			at >>= THRUM__FAN_SHIFT;
		}
	}
	return tracks->rows;
}

bool thrum__index_is_loud(const struct thrum__index *tracks, uint32_t row, int64_t from, int64_t to)
{
	const struct thrum__index_column *units = &tracks->track[THRUM__INDEX_UNITS];

	if (row >= tracks->rows || !has_item(units, row, from, to))
		return false;
	if (tracks->wanted[row / 8] & 1u << row % 8)
		return true;
	uint32_t end = units->row[row].last;
	uint32_t at = thrum__index_column_end_at(units, units->row[row].first, end, from);

	/* What lasts to the end of the trace doesn't end there. */
	if (units->start[at] >= from || (units->end[at] <= to && units->end[at] < tracks->end))
		return true;
	return has_item(&tracks->track[THRUM__INDEX_RUNS], row, from, to) ||
		has_item(&tracks->track[THRUM__INDEX_EDGES], row, from, to) ||
		has_item(&tracks->track[THRUM__INDEX_NOTES], row, from, to);
}

void thrum__index_idle(const struct thrum__index *tracks, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context)
{
	const struct thrum__index_column *all = &tracks->all;
	uint32_t last = all->row[0].last;
	uint32_t at = thrum__index_column_end_at(all, all->row[0].first, last, from);
	int64_t start = from = thrum__base_time_clamp(from);

	to = thrum__base_time_clamp(to);
	if (gap < 1)
		gap = 1;
	for (;;) {
		int64_t next = at < last ? all->start[at] : INT64_MAX, end;
		bool is_open = tracks->since <= next && tracks->since < INT64_MAX;

		next = is_open ? tracks->since : next;
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
	start = tracks->end > start ? tracks->end : start;
	if (to > start && to - start >= gap)
		found(context, start, to);
}

void thrum__index_idle_around(const struct thrum__index *tracks, int64_t time, int64_t *start,
	int64_t *end)
{
	const struct thrum__index_column *all = &tracks->all;
	uint32_t first = all->row[0].first, last = all->row[0].last;
	uint32_t at = thrum__index_column_end_at(all, first, last, time);

	*start = at > first ? all->end[at - 1] : INT64_MIN;
	if (at < last && all->start[at] < time)
		*start = time;
	while (at < last && all->end[at] <= time)
		at++;
	*end = at < last ? all->start[at] : INT64_MAX;
	if (tracks->since < *end)
		*end = tracks->since;
	if (tracks->since < time)
		*start = tracks->end < time ? tracks->end : time;
	if (*end <= time)
		*end = tracks->since < time && tracks->end <= time ? INT64_MAX : time;
}

int64_t thrum__index_busy(const struct thrum__index *tracks, int64_t from, int64_t to)
{
	const struct thrum__index_column *all = &tracks->all;
	int64_t until = to < tracks->since ? to : tracks->since, busy = 0;
	uint32_t at = thrum__index_column_end_at(all, all->row[0].first, all->row[0].last, from);
	uint32_t end = thrum__index_column_start_at(all, at, all->row[0].last, until);

	if (at < end && from < until) {
		busy = thrum__index_column_busy(all, at, end);
		if (all->start[at] < from)
			busy -= from - all->start[at];
		if (all->end[end - 1] > until)
			busy -= all->end[end - 1] - until;
	}
	from = from > tracks->since ? from : tracks->since;
	to = to < tracks->end ? to : tracks->end;
	return from < to ? busy + to - from : busy;
}

uint32_t thrum__index_alive(const struct thrum__index *tracks, int64_t time)
{
	uint32_t ended = time > INT64_MIN ? thrum__index_times_until(&tracks->ends, time - 1) : 0;

	if (time > tracks->end)
		ended += tracks->lasting;
	return tracks->older + thrum__index_times_until(&tracks->starts, time) - ended;
}
