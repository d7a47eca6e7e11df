/* SPDX-License-Identifier: ISC */
/*
 * Sorts large arrays by a 64-bit key, and finds the value of a rank. libc's qsort is quadratic at worst
 * in some libcs and slow in others.
 *
 * All kinds of item are sorted by a natural merge sort (Knuth, TAOCP 3, 5.2.4), which takes linear
 * time when the array is sorted already; or by a radix sort, where that takes fewer rounds and only
 * the key counts. Neither takes more than O(n log n), and both keep the order of equal items.
 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct thrum__base_sort_item {
	int64_t key;
	uint32_t item;
};

/*
 * Sorts by key, the least first. Items of the same key keep their order, or are ordered by
 * `compare` (NULL: none), whose result is as qsort's. `room` has room for `count` items.
 */
void thrum__base_sort(struct thrum__base_sort_item *items, struct thrum__base_sort_item *room,
	size_t count, int (*compare)(const void *context, uint32_t a, uint32_t b),
	const void *context);

/* An interval of time, and the item to which it belongs. */
struct thrum__base_span {
	int64_t start, end;
	uint32_t item;
};

/* Sorts by start. Spans of the same start keep their order. `room` has room for `count` spans. */
void thrum__base_sort_spans(struct thrum__base_span *spans, struct thrum__base_span *room,
	size_t count);

/* Sorts plain times. `room` has room for `count` of them. */
void thrum__base_sort_times(int64_t *times, int64_t *room, size_t count);

/* The value of rank `rank` (from 0) among `count` values, which are moved about: none before that place
 * is greater then, and none behind it less. By C. A. R. Hoare's "Algorithm 65: Find"; O(n) on the
 * mean. */
int64_t thrum__base_select(int64_t *values, uint32_t count, uint32_t rank);

#endif
