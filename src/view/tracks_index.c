/* SPDX-License-Identifier: ISC */
/* The tree of a track's gaps, sums of lengths, and searching. */
#include "view/tracks_parts.h"

#include <stdlib.h>
#include <thrum.h>

#define FAN_MASK (THRUM__FAN - 1)

void *thrum__tracks_allocate(struct thrum__tracks *tracks, uint64_t count, size_t size)
{
	void *made = count >= SIZE_MAX / size ? NULL : malloc((size_t)(count + 1) * size);

	if (made)
		tracks->memory += (size_t)(count + 1) * size;
	return made;
}

void thrum__track_finish(struct thrum__track *track)
{
	free(track->first);
	free(track->start);
	free(track->end);
	free(track->item);
	free(track->before);
	for (unsigned i = 0; i < track->gap_levels; i++)
		free(track->gap[i]);
	for (unsigned i = 0; i < track->levels; i++) {
		free(track->level[i].first);
		free(track->level[i].sums);
	}
}

/* The lowest level: the widest gap behind each of sixteen positions. */
static void gather_gaps(struct thrum__track *track)
{
	int64_t *gap = track->gap[0];

	for (uint32_t row = 0; row < track->rows; row++)
		for (uint32_t i = track->first[row], end = track->first[row + 1]; i < end; i++) {
			int64_t wide = i + 1 == end
				? INT64_MAX
				: track->start[i + 1] - thrum__track_end(track, i);

			if ((i & FAN_MASK) == 0 || gap[i >> THRUM__FAN_SHIFT] < wide)
				gap[i >> THRUM__FAN_SHIFT] = wide;
		}
}

int thrum__track_index(struct thrum__tracks *tracks, struct thrum__track *track)
{
	uint32_t count = track->count, nodes;

	for (unsigned level = 0; count > 1 || level == 0; level++, count = nodes) {
		nodes = (uint32_t)(((uint64_t)count + FAN_MASK) >> THRUM__FAN_SHIFT);
		int64_t *gap = thrum__tracks_allocate(tracks, nodes, sizeof(*gap));

		if (!gap)
			return -THRUM_E_MEMORY;
		track->gap[level] = gap;
		track->gap_levels = level + 1;
		if (level == 0) {
			gather_gaps(track);
			continue;
		}
		for (uint32_t i = 0; i < count; i++) {
			int64_t wide = track->gap[level - 1][i];

			if ((i & FAN_MASK) == 0 || gap[i >> THRUM__FAN_SHIFT] < wide)
				gap[i >> THRUM__FAN_SHIFT] = wide;
		}
	}
	if (!track->end)
		return 0;
	track->before = thrum__tracks_allocate(tracks, (track->count >> THRUM__FAN_SHIFT) + 1ull,
		sizeof(*track->before));
	if (!track->before)
		return -THRUM_E_MEMORY;
	int64_t sum = 0;

	for (uint32_t i = 0; i < track->count; i++) {
		if ((i & FAN_MASK) == 0)
			track->before[i >> THRUM__FAN_SHIFT] = sum;
		/* Sums of what is damaged may be anything, but nothing undefined. */
		sum = (int64_t)((uint64_t)sum + (uint64_t)(track->end[i] - track->start[i]));
	}
	if ((track->count & FAN_MASK) == 0)
		track->before[track->count >> THRUM__FAN_SHIFT] = sum;
	return 0;
}

uint32_t thrum__track_gap(const struct thrum__track *track, uint32_t position, uint32_t end,
	int64_t gap)
{
	unsigned level = 0; /* 0: single positions; else nodes of track->gap[level - 1] */
	uint64_t i = position;

	for (;;) {
		if (i << level * THRUM__FAN_SHIFT >= end - 1)
			return end - 1;
		int64_t wide = level ? track->gap[level - 1][i]
				     : track->start[i + 1] - thrum__track_end(track, (uint32_t)i);

		if (wide >= gap) {
			if (level == 0)
				return (uint32_t)i;
			level--;
			i <<= THRUM__FAN_SHIFT;
			continue;
		}
		i++;
		if ((i & FAN_MASK) == 0 && level < track->gap_levels) {
			level++;
			i >>= THRUM__FAN_SHIFT;
		}
	}
}

int64_t thrum__track_before(const struct thrum__track *track, uint32_t position)
{
	uint32_t i = position & ~FAN_MASK;
	uint64_t sum = (uint64_t)track->before[position >> THRUM__FAN_SHIFT];

	for (; i < position; i++)
		sum += (uint64_t)(track->end[i] - track->start[i]);
	return (int64_t)sum;
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

uint32_t thrum__track_start_at(const struct thrum__track *track, uint32_t from, uint32_t to,
	int64_t time)
{
	return first_at(track->start, from, to, time);
}

uint32_t thrum__track_end_at(const struct thrum__track *track, uint32_t from, uint32_t to,
	int64_t time)
{
	return first_at(track->end ? track->end : track->start, from, to, time);
}
