/* SPDX-License-Identifier: ISC */
/* Sorting stretches of time. Internal to view/. */
#ifndef VIEW_PIECES_H
#define VIEW_PIECES_H

#include <stddef.h>
#include <stdint.h>

struct thrum__piece {
	int64_t start, end;
	uint32_t item;
};

/* Times of damaged traces may be anything; within these bounds, sums and differences of two don't
 * overflow. */
#define THRUM__FARTHEST (INT64_C(1) << 61)

static inline int64_t thrum__bounded(int64_t time)
{
	return time < -THRUM__FARTHEST   ? -THRUM__FARTHEST
		: time > THRUM__FARTHEST ? THRUM__FARTHEST
					 : time;
}

/*
 * Sorts by start; what starts together keeps its order. The scratch has room for as many. A natural
 * merge sort (Knuth, TAOCP 3, 5.2.4), linear for what is sorted already, or, where that takes less
 * rounds, a radix sort: never more than eight rounds over large arrays.
 */
void thrum__pieces_sort(struct thrum__piece *, struct thrum__piece *scratch, size_t count);

/* The array with room for `count` elements, grown by half at least, or NULL: out of memory, and the
 * old one is as it was. *room is set. */
void *thrum__grown(void *array, uint32_t *room, uint64_t count, size_t size);

#endif
