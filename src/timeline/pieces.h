/* SPDX-License-Identifier: ISC */
/* Sorting stretches of time. Private to this room. */
#ifndef TIMELINE_PIECES_H
#define TIMELINE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct thrum__timeline_piece {
	int64_t start, end;
	uint32_t item;
};

/*
 * Sorts by start; what starts together keeps its order. The scratch has room for as many. A natural
 * merge sort (Knuth, TAOCP 3, 5.2.4), linear for what is sorted already, or, where that takes less
 * rounds, a radix sort: never more than eight rounds over large arrays.
 */
void thrum__timeline_pieces_sort(struct thrum__timeline_piece *,
	struct thrum__timeline_piece *scratch, size_t count);

#endif
