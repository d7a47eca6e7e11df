/* SPDX-License-Identifier: ISC */
/*
 * base/: the helpers that every room may use: arrays, sorting, hashing, keys, UTF-8, texts, JSON,
 * arithmetic on times. They know nothing of tracing: tasks, files and pictures never come in here.
 *
 * This header: arrays that grow.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the array with room for at least `count` elements of `each` bytes, and sets *room to the
 * number of elements that fit. It grows by half at least, so that appending costs O(1) on average.
 * An array that is large enough is returned as it is. NULL: out of memory, and the old array and
 * *room are unchanged. The array may be NULL when *room is 0. The caller frees it.
 */
void *thrum__base_grow(void *array, uint32_t *room, uint64_t count, size_t each);

/* The same; the new elements are zero. */
void *thrum__base_grow_zeroed(void *array, uint32_t *room, uint64_t count, size_t each);

#endif
