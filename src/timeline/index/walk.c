/* SPDX-License-Identifier: ISC */
/* Walks over the stretches of one track, or of several as if they were one. */
#include "timeline/index/parts.h"

/* Puts the next stretch of a track or block into its cursor and moves the cursor behind it. A count
 * of 0 means that there is none. */
static void advance_cursor(struct thrum__index_walk *walk, unsigned i)
{
	const struct thrum__index_column *column = &walk->index->column[walk->kind];
	struct thrum__index_stretch *next = &walk->cursor[i].next;
	uint32_t at = walk->cursor[i].at;

	if (at >= walk->cursor[i].end) {
		next->count = 0;
		return;
	}
	if (walk->level > 0) {
		const struct thrum__index_sum *sum = &column->level[walk->level - 1].sums[at];

		*next = (struct thrum__index_stretch){
			.start = sum->start,
			.end = sum->end,
			.busy = (int64_t)((double)(sum->end - sum->start) * (double)sum->share),
			.count = sum->count,
			.item = sum->item,
		};
		walk->cursor[i].at = at + 1;
		return;
	}
	uint32_t last = thrum__index_column_gap(column, at, walk->cursor[i].end, walk->gap);

	*next = (struct thrum__index_stretch){
		.start = column->start[at],
		.end = thrum__index_column_end(column, last),
		.count = last - at + 1ull,
		.item = column->item[at],
	};
	if (last == at)
		next->busy = next->end - next->start;
	else if (column->end)
		next->busy = thrum__index_column_busy(column, at, last + 1);
	walk->cursor[i].at = last + 1;
}

/* Returns the first sum in from … to - 1 that ends (by_end) or starts at or after a time; or
 * `to`. */
static uint32_t find_sum(const struct thrum__index_sum *sums, uint32_t from, uint32_t to,
	bool by_end, int64_t time)
{
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if ((by_end ? sums[middle].end : sums[middle].start) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Adds a cursor for a track or block, if anything of it intersects from … to. */
static void add_cursor(struct thrum__index_walk *walk, const struct thrum__index_column *column,
	uint32_t node, int64_t from, int64_t to)
{
	const struct thrum__index_level *level = walk->level ? &column->level[walk->level - 1]
							     : NULL;
	uint32_t at = level ? level->block[node].first : column->track[node].first;
	uint32_t end = level ? at + level->block[node].count : column->track[node].last;
	int64_t behind = to < INT64_MAX ? to + 1 : to;

	if (level) {
		at = find_sum(level->sums, at, end, true, from);
		end = find_sum(level->sums, at, end, false, behind);
	} else {
		at = thrum__index_column_end_at(column, at, end, from);
		end = thrum__index_column_start_at(column, at, end, behind);
	}
	if (at >= end)
		return;
	walk->cursor[walk->count].at = at;
	walk->cursor[walk->count].end = end;
	advance_cursor(walk, walk->count++);
}

void thrum__index_walk_begin(struct thrum__index_walk *walk, const struct thrum__index *index,
	int kind, uint32_t track, uint32_t tracks, int64_t from, int64_t to, int64_t gap)
{
	const struct thrum__index_column *column = &index->column[kind];
	unsigned shift = 0;

	walk->index = index;
	walk->kind = kind;
	walk->gap = gap;
	walk->level = 0;
	walk->count = 0;
	if (track >= index->tracks)
		return;
	if (tracks > index->tracks - track)
		tracks = index->tracks - track;
	for (; tracks >> shift >= THRUM__FAN && walk->level < column->levels; walk->level++)
		shift += THRUM__FAN_SHIFT;
	uint32_t first = track >> shift, end = (track + tracks) >> shift;

	if (track + tracks == index->tracks)
		end = ((index->tracks - 1) >> shift) + 1;
	for (; first < end && walk->count < THRUM__BLOCK_CURSORS; first++)
		add_cursor(walk, column, first, from, to);
}

/* Returns the cursor whose next stretch starts first; or the number of cursors at the end. */
static unsigned earliest_cursor(const struct thrum__index_walk *walk)
{
	unsigned best = walk->count;

	for (unsigned i = 0; i < walk->count; i++)
		if (walk->cursor[i].next.count &&
			(best == walk->count ||
				walk->cursor[i].next.start < walk->cursor[best].next.start))
			best = i;
	return best;
}

bool thrum__index_walk_next(struct thrum__index_walk *walk, struct thrum__index_stretch *stretch)
{
	unsigned i = earliest_cursor(walk);

	if (i == walk->count)
		return false;
	*stretch = walk->cursor[i].next;
	advance_cursor(walk, i);
	if (walk->count == 1 && walk->level == 0)
		return true;
	while ((i = earliest_cursor(walk)) < walk->count) {
		const struct thrum__index_stretch *next = &walk->cursor[i].next;

		if (next->start >= stretch->end && next->start - stretch->end >= walk->gap)
			break;
		if (next->end > stretch->end) {
			int64_t from = next->start > stretch->end ? next->start : stretch->end;

			/* Time that both have in common isn't counted twice. */
			stretch->busy += next->start == from
				? next->busy
				: (int64_t)((double)next->busy * (double)(next->end - from) /
					  (double)(next->end - next->start));
			stretch->end = next->end;
		}
		stretch->count += next->count;
		advance_cursor(walk, i);
	}
	return true;
}
