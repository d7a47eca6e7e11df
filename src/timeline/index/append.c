/* SPDX-License-Identifier: ISC */
/* Rows of a track that get and lose items. */
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define POWER_LEAST 2 /* a row has room for four at least */
#define SHRINK 16     /* part of its room that a row must use */

int thrum__index_column_add_rows(struct thrum__index_column *track, uint32_t rows)
{
	uint32_t room = track->row_room, slots = track->slot ? track->row_room : 0;

	if (rows > room || !track->slot) {
		void *row = track->row, *slot = track->slot;
		uint64_t wanted = (uint64_t)rows + rows / 2;

		if (wanted >= UINT32_MAX ||
			thrum__index_extend(&row, room, wanted, sizeof(*track->row)))
			return -THRUM_E_MEMORY;
		track->row = row;
		track->row_room = (uint32_t)wanted;
		if (thrum__index_extend(&slot, slots, wanted, sizeof(*track->slot)))
			return -THRUM_E_MEMORY;
		track->slot = slot;
	}
	/* At first rows lie closely. */
	for (uint32_t i = 0; slots == 0 && i < track->rows; i++)
		track->slot[i] = (struct thrum__slot){track->row[i].first,
			track->row[i].last - track->row[i].first};
	if (slots == 0)
		memset(track->free, 0xff, sizeof(track->free));
	track->rows = rows;
	return 0;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* A free slot has the next one's base in place of its first item's start. */
static void give_back(struct thrum__index_column *track, struct thrum__slot slot)
{
	unsigned power = slot.room ? 31 - (unsigned)__builtin_clz(slot.room) : 0;

	if (power < POWER_LEAST)
		return;
	track->start[slot.base] = track->free[power];
	track->free[power] = slot.base;
}

static int take(struct thrum__index_column *track, unsigned power, struct thrum__slot *slot)
{
	uint32_t base = track->free[power];

	slot->room = 1u << power;
	if (base != THRUM__NONE) {
		track->free[power] = (uint32_t)track->start[base];
		slot->base = base;
		return 0;
	}
	if (thrum__index_column_grow(track, (uint64_t)track->count + slot->room))
		return -THRUM_E_MEMORY;
	slot->base = track->count;
	track->count += slot->room;
	return 0;
}

static void copy(struct thrum__index_column *track, uint32_t to, uint32_t from, uint32_t count)
{
	memmove(track->start + to, track->start + from, count * sizeof(*track->start));
	if (track->item)
		memmove(track->item + to, track->item + from, count * sizeof(*track->item));
	if (track->end)
		memmove(track->end + to, track->end + from, count * sizeof(*track->end));
}

/* Moves a row to the beginning of its slot, or of another; so many more are to fit, and there half
 * as many again. */
static int move(struct thrum__index_column *track, uint32_t row, uint32_t more, bool to_other)
{
	struct thrum__extent *extent = &track->row[row];
	struct thrum__slot slot = track->slot[row];
	uint32_t count = extent->last - extent->first;

	if (to_other) {
		unsigned power = POWER_LEAST;

		while (1u << power < count + more + (count + more) / 2)
			power++;
		int error = take(track, power, &slot);

		if (error)
			return error;
	}
	copy(track, slot.base, extent->first, count);
	if (to_other)
		give_back(track, track->slot[row]);
	track->slot[row] = slot;
	*extent = (struct thrum__extent){slot.base, slot.base + count};
	thrum__index_column_redo(track, row, slot.base);
	return 0;
}

int thrum__index_column_reserve(struct thrum__index_column *track, uint32_t row, uint32_t more)
{
	const struct thrum__extent *extent = &track->row[row];
	const struct thrum__slot *slot = &track->slot[row];
	uint64_t count = (uint64_t)(extent->last - extent->first) + more;

	if (slot->room && (uint64_t)extent->last + more <= (uint64_t)slot->base + slot->room)
		return 0;
	if (count >= UINT32_MAX / 4)
		return -THRUM_E_MEMORY;
	return move(track, row, more, count > slot->room - slot->room / 5);
}

/* ---- All rows -------------------------------------------------------------------------------- */

static uint32_t packed_room(const struct thrum__extent *extent)
{
	uint32_t count = extent->last - extent->first;

	return count + count / 2 + (1u << POWER_LEAST);
}

static int pack_array(const struct thrum__index_column *track, void *array, size_t size,
	uint64_t room)
{
	char *from, *packed, *to;

	memcpy(&from, array, sizeof(from));
	if (!from)
		return 0;
	packed = to = thrum__index_allocate(room, size);
	if (!packed)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < track->rows; i++) {
		const struct thrum__extent *extent = &track->row[i];

		memcpy(to, from + extent->first * size, (extent->last - extent->first) * size);
		to += packed_room(extent) * size;
	}
	free(from);
	memcpy(array, &packed, sizeof(packed));
	return 0;
}

int thrum__index_column_pack(struct thrum__index_column *track)
{
	uint64_t room = 0;
	uint32_t base = 0;

	for (uint32_t i = 0; i < track->rows; i++)
		room += packed_room(&track->row[i]);
	if (room >= track->count / 3 * 2)
		return 0;
	if (pack_array(track, &track->start, sizeof(*track->start), room) ||
		pack_array(track, &track->end, sizeof(*track->end), room) ||
		pack_array(track, &track->item, sizeof(*track->item), room))
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < track->rows; i++) {
		struct thrum__extent *extent = &track->row[i];

		track->slot[i] = (struct thrum__slot){base, packed_room(extent)};
		*extent = (struct thrum__extent){base, base + extent->last - extent->first};
		base += track->slot[i].room;
	}
	memset(track->free, 0xff, sizeof(track->free));
	track->count = base;
	for (unsigned i = 0; i < track->gap_levels; i++) {
		free(track->gap[i]);
		track->gap[i] = NULL;
	}
	track->gap_levels = 0;
	free(track->before);
	track->before = NULL;
	return thrum__index_column_index(track);
}

/* ---- Items ----------------------------------------------------------------------------------- */

bool thrum__index_column_append(struct thrum__index_column *track, uint32_t row,
	const struct thrum__arrival *new)
{
	struct thrum__extent *extent = &track->row[row];
	uint32_t at = extent->last;

	if (at > extent->first &&
		(track->start[at - 1] >= new->start ||
			thrum__index_column_end(track, at - 1) > new->start))
		return false;
	extent->last++;
	track->start[at] = new->start;
	if (track->item)
		track->item[at] = new->item;
	if (track->end)
		track->end[at] = new->end;
	return true;
}

uint32_t thrum__index_column_open(struct thrum__index_column *track, uint32_t row,
	uint32_t behind_first)
{
	struct thrum__extent *extent = &track->row[row];

	if (thrum__index_column_reserve(track, row, 1))
		return THRUM__NONE;
	uint32_t at = extent->first + behind_first;

	copy(track, at + 1, at, extent->last++ - at);
	return at;
}

/* The items before a position come one on, over it. Sums are those from where the row once began:
 * behind the position they stay. */
static void close_front(struct thrum__index_column *track, struct thrum__extent *extent,
	uint32_t position)
{
	uint32_t first = extent->first++;
	int64_t gone = track->end ? track->end[position] - track->start[position] : 0;

	if (position == first)
		return;
	copy(track, first + 1, first, position - first);
	for (uint32_t at = (first | THRUM__FAN_MASK) + 1; track->end && at <= position;
		at += THRUM__FAN) {
		int64_t *sum = &track->before[at >> THRUM__FAN_SHIFT];

		*sum = (int64_t)((uint64_t)*sum + (uint64_t)gone -
			(uint64_t)(track->end[at] - track->start[at]));
	}
	thrum__index_column_redo_gaps(track, extent->first, position + 1);
}

void thrum__index_column_close(struct thrum__index_column *track, uint32_t row, uint32_t position)
{
	struct thrum__extent *extent = &track->row[row];

	if (position - extent->first < extent->last - position) {
		close_front(track, extent, position);
	} else {
		copy(track, position, position + 1, --extent->last - position);
		if (position < extent->last)
			thrum__index_column_redo(track, row, position);
	}
	if (extent->first == extent->last)
		extent->first = extent->last = track->slot[row].base;
}

uint32_t thrum__index_column_trim(struct thrum__index_column *track, uint32_t row, int64_t before)
{
	struct thrum__extent *extent = &track->row[row];
	uint32_t at = thrum__index_column_end_at(track, extent->first, extent->last, before);
	uint32_t count = at - extent->first;

	extent->first = at;
	if (at == extent->last)
		extent->first = extent->last = track->slot[row].base;
	/* Others may need the room; when there is no memory to move, it stays. */
	if (count > 0 && track->slot[row].room / SHRINK > extent->last - extent->first &&
		move(track, row, 0, true))
		return count;
	return count;
}

int thrum__index_column_unite(struct thrum__index_column *all, int64_t start, int64_t end)
{
	struct thrum__extent *extent = &all->row[0];
	uint32_t at = extent->last, next;

	/* Mostly it is behind all. */
	if (at == extent->first || all->end[at - 1] < start) {
		if (thrum__index_column_reserve(all, 0, 1))
			return -THRUM_E_MEMORY;
		thrum__index_column_append(all, 0,
			&(struct thrum__arrival){.start = start, .end = end});
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
	copy(all, at + 1, next, extent->last - next);
	extent->last -= next - at - 1;
	thrum__index_column_redo(all, 0, at);
	return 0;
}
