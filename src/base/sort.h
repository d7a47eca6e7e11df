/* SPDX-License-Identifier: ISC */
/* Sorting of much: libc's qsort is quadratic at worst in some libcs, and slow in others. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct thrum__base_sort_item {
	int64_t key;
	uint32_t item;
};

/*
 * Sorts by key, the least first; what has the same key stays in its order, or is ordered by
 * `compare` (NULL: none) as qsort's. `room` is as large as `items`. A merge sort: O(n log n)
 * always, O(n) of what is in order.
 */
void thrum__base_sort(struct thrum__base_sort_item *items, struct thrum__base_sort_item *room,
	size_t count, int (*compare)(const void *context, uint32_t a, uint32_t b),
	const void *context);

#endif
