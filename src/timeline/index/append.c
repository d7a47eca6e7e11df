/* SPDX-License-Identifier: ISC */
/* Lets the tracks of a column gain and lose items. */
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define POWER_LEAST 2 /* a slot has room for 2^2 items at least */
#define SHRINK 16     /* a track that uses less than 1/16 of its slot gets a smaller one */

int thrum__index_column_add_tracks(struct thrum__index_column *column, uint32_t tracks)
{
	uint32_t room = column->track_room, slots = column->slot ? column->track_room : 0;

	if (tracks > room || !column->slot) {
		void *track = column->track, *slot = column->slot;
		uint64_t wanted = (uint64_t)tracks + tracks / 2;

		if (wanted >= UINT32_MAX ||
			thrum__index_extend(&track, room, wanted, sizeof(*column->track)))
			return -THRUM_E_MEMORY;
		column->track = track;
		column->track_room = (uint32_t)wanted;
		if (thrum__index_extend(&slot, slots, wanted, sizeof(*column->slot)))
			return -THRUM_E_MEMORY;
		column->slot = slot;
	}
	/* At first each track just fills its slot. */
	for (uint32_t i = 0; slots == 0 && i < column->tracks; i++)
		column->slot[i] = (struct thrum__index_slot){column->track[i].first,
			column->track[i].last - column->track[i].first};
	if (slots == 0)
		memset(column->free, 0xff, sizeof(column->free));
	column->tracks = tracks;
	return 0;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* Frees a slot. A free slot holds the base of the next free one in place of its first start. */
static void free_slot(struct thrum__index_column *column, struct thrum__index_slot slot)
{
	unsigned power = slot.room ? 31 - (unsigned)__builtin_clz(slot.room) : 0;

	if (power < POWER_LEAST)
		return;
	column->start[slot.base] = column->free[power];
	column->free[power] = slot.base;
}

/* Takes a slot of 2^power positions: a free one, or one behind all others. */
static int take_slot(struct thrum__index_column *column, unsigned power,
	struct thrum__index_slot *slot)
{
	uint32_t base = column->free[power];

	slot->room = 1u << power;
	if (base != THRUM__NONE) {
		column->free[power] = (uint32_t)column->start[base];
		slot->base = base;
		return 0;
	}
	if (thrum__index_column_grow(column, (uint64_t)column->count + slot->room))
		return -THRUM_E_MEMORY;
	slot->base = column->count;
	column->count += slot->room;
	return 0;
}

/* Moves `count` items to other positions; the ranges may overlap. */
static void copy_items(struct thrum__index_column *column, uint32_t to, uint32_t from,
	uint32_t count)
{
	memmove(column->start + to, column->start + from, count * sizeof(*column->start));
	if (column->item)
		memmove(column->item + to, column->item + from, count * sizeof(*column->item));
	if (column->end)
		memmove(column->end + to, column->end + from, count * sizeof(*column->end));
}

/* Moves a track to the beginning of its slot; or (to_other) of another that has room for `more`
 * items and then half as many again. */
static int move_track(struct thrum__index_column *column, uint32_t track, uint32_t more,
	bool to_other)
{
	struct thrum__index_extent *extent = &column->track[track];
	struct thrum__index_slot slot = column->slot[track];
	uint32_t count = extent->last - extent->first;

	if (to_other) {
		unsigned power = POWER_LEAST;

		while (1u << power < count + more + (count + more) / 2)
			power++;
		int error = take_slot(column, power, &slot);

		if (error)
			return error;
	}
	copy_items(column, slot.base, extent->first, count);
	if (to_other)
		free_slot(column, column->slot[track]);
	column->slot[track] = slot;
	*extent = (struct thrum__index_extent){slot.base, slot.base + count};
	thrum__index_column_redo(column, track, slot.base);
	return 0;
}

int thrum__index_column_reserve(struct thrum__index_column *column, uint32_t track, uint32_t more)
{
	const struct thrum__index_extent *extent = &column->track[track];
	const struct thrum__index_slot *slot = &column->slot[track];
	uint64_t count = (uint64_t)(extent->last - extent->first) + more;

	if (slot->room && (uint64_t)extent->last + more <= (uint64_t)slot->base + slot->room)
		return 0;
	if (count >= UINT32_MAX / 4)
		return -THRUM_E_MEMORY;
	return move_track(column, track, more, count > slot->room - slot->room / 5);
}

/* ---- Packing all tracks ---------------------------------------------------------------------- */

/* The room that packing leaves a track. */
static uint32_t packed_room(const struct thrum__index_extent *extent)
{
	uint32_t count = extent->last - extent->first;

	return count + count / 2 + (1u << POWER_LEAST);
}

/* Replaces an array of the column (`array` points to the pointer) by a packed one. */
static int pack_array(const struct thrum__index_column *column, void *array, size_t size,
	uint64_t room)
{
	char *from, *packed, *to;

	memcpy(&from, array, sizeof(from));
	if (!from)
		return 0;
	packed = to = thrum__index_allocate(room, size);
	if (!packed)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < column->tracks; i++) {
		const struct thrum__index_extent *extent = &column->track[i];

		memcpy(to, from + extent->first * size, (extent->last - extent->first) * size);
		to += packed_room(extent) * size;
	}
	free(from);
	memcpy(array, &packed, sizeof(packed));
	return 0;
}

int thrum__index_column_pack(struct thrum__index_column *column)
{
	uint64_t room = 0;
	uint32_t base = 0;

	for (uint32_t i = 0; i < column->tracks; i++)
		room += packed_room(&column->track[i]);
	if (room >= column->count / 3 * 2)
		return 0;
	if (pack_array(column, &column->start, sizeof(*column->start), room) ||
		pack_array(column, &column->end, sizeof(*column->end), room) ||
		pack_array(column, &column->item, sizeof(*column->item), room))
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < column->tracks; i++) {
		struct thrum__index_extent *extent = &column->track[i];

		column->slot[i] = (struct thrum__index_slot){base, packed_room(extent)};
		*extent = (struct thrum__index_extent){base, base + extent->last - extent->first};
		base += column->slot[i].room;
	}
	memset(column->free, 0xff, sizeof(column->free));
	column->count = base;
	for (unsigned i = 0; i < column->gap_levels; i++) {
		free(column->gap[i]);
		column->gap[i] = NULL;
	}
	column->gap_levels = 0;
	free(column->before);
	column->before = NULL;
	return thrum__index_column_summarize(column);
}

/* ---- Items ----------------------------------------------------------------------------------- */

bool thrum__index_column_append(struct thrum__index_column *column, uint32_t track,
	const struct thrum__index_arrival *new)
{
	struct thrum__index_extent *extent = &column->track[track];
	uint32_t at = extent->last;

	if (at > extent->first &&
		(column->start[at - 1] >= new->start ||
			thrum__index_column_end(column, at - 1) > new->start))
		return false;
	extent->last++;
	column->start[at] = new->start;
	if (column->item)
		column->item[at] = new->item;
	if (column->end)
		column->end[at] = new->end;
	return true;
}

uint32_t thrum__index_column_open(struct thrum__index_column *column, uint32_t track,
	uint32_t behind_first)
{
	struct thrum__index_extent *extent = &column->track[track];

	if (thrum__index_column_reserve(column, track, 1))
		return THRUM__NONE;
	uint32_t at = extent->first + behind_first;

	copy_items(column, at + 1, at, extent->last++ - at);
	return at;
}

/* Removes an item near the front: the items before it move one place on, over it. Sums count from
 * where the track once began, so those behind the position stay right. */
static void close_front(struct thrum__index_column *column, struct thrum__index_extent *extent,
	uint32_t position)
{
	uint32_t first = extent->first++;
	int64_t gone = column->end ? column->end[position] - column->start[position] : 0;

	if (position == first)
		return;
	copy_items(column, first + 1, first, position - first);
	for (uint32_t at = (first | THRUM__FAN_MASK) + 1; column->end && at <= position;
		at += THRUM__FAN) {
		int64_t *sum = &column->before[at >> THRUM__FAN_SHIFT];

		*sum = (int64_t)((uint64_t)*sum + (uint64_t)gone -
			(uint64_t)(column->end[at] - column->start[at]));
	}
	thrum__index_column_redo_gaps(column, extent->first, position + 1);
}

void thrum__index_column_close(struct thrum__index_column *column, uint32_t track,
	uint32_t position)
{
	struct thrum__index_extent *extent = &column->track[track];

	if (position - extent->first < extent->last - position) {
		close_front(column, extent, position);
	} else {
		copy_items(column, position, position + 1, --extent->last - position);
		if (position < extent->last)
			thrum__index_column_redo(column, track, position);
	}
	if (extent->first == extent->last)
		extent->first = extent->last = column->slot[track].base;
}

uint32_t thrum__index_column_trim(struct thrum__index_column *column, uint32_t track,
	int64_t before)
{
	struct thrum__index_extent *extent = &column->track[track];
	uint32_t at = thrum__index_column_end_at(column, extent->first, extent->last, before);
	uint32_t count = at - extent->first;

	extent->first = at;
	if (at == extent->last)
		extent->first = extent->last = column->slot[track].base;
	/* Other tracks may need the room. Without memory to move, the track stays where it is. */
	if (count > 0 && column->slot[track].room / SHRINK > extent->last - extent->first &&
		move_track(column, track, 0, true))
		return count;
	return count;
}

int thrum__index_column_unite(struct thrum__index_column *all, int64_t start, int64_t end)
{
	struct thrum__index_extent *extent = &all->track[0];
	uint32_t at = extent->last, next;

	/* Mostly the run comes behind all others. */
	if (at == extent->first || all->end[at - 1] < start) {
		if (thrum__index_column_reserve(all, 0, 1))
			return -THRUM_E_MEMORY;
		thrum__index_column_append(all, 0,
			&(struct thrum__index_arrival){.start = start, .end = end});
		thrum__index_column_follow(all, 0, extent->last - 1);
		return 0;
	}
	at--;
	if (all->start[at] > start)
		at = thrum__index_column_end_at(all, extent->first, at, start);
	next = at;
	if (all->start[at] > end) {
		at = thrum__index_column_open(all, 0, at - extent->first);
		if (at == THRUM__NONE)
			return -THRUM_E_MEMORY;
		next = at + 1;
	} else {
		start = all->start[at] < start ? all->start[at] : start;
		while (next < extent->last && all->start[next] <= end) {
			end = all->end[next] > end ? all->end[next] : end;
			next++;
		}
	}
	all->start[at] = start;
	all->end[at] = end;
	copy_items(all, at + 1, next, extent->last - next);
	extent->last -= next - at - 1;
	thrum__index_column_redo(all, 0, at);
	return 0;
}
