/* SPDX-License-Identifier: ISC */
/* Sorts intervals of time by their start. Private to timeline/. */
#ifndef TIMELINE_PIECES_H
#define TIMELINE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

/* An item's time; not all users set `end`. */
struct thrum__timeline_piece {
	int64_t start, end;
	uint32_t item;
};

/*
 * Sorts `count` pieces by start; pieces with the same start keep their order. `scratch` has room
 * for as many. It is a natural merge sort (Knuth, TAOCP 3, 5.2.4), linear for sorted pieces, or,
 * where that takes fewer rounds, a radix sort: never more than eight rounds over large arrays.
 */
void thrum__timeline_pieces_sort(struct thrum__timeline_piece *,
	struct thrum__timeline_piece *scratch, size_t count);

#endif
