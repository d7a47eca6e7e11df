/* SPDX-License-Identifier: ISC */
/* Arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* The array with room for `count` elements, grown by half at least, or NULL: out of memory, and the
 * old one is as it was. *room is set. */
void *thrum__base_grow_by_half(void *array, uint32_t *room, uint64_t count, size_t size);

#endif
