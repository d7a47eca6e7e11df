/* SPDX-License-Identifier: ISC */
#include "base/array.h"

#include <stdlib.h>

void *thrum__base_grow_by_half(void *array, uint32_t *room, uint64_t count, size_t size)
{
	uint64_t wanted = (uint64_t)*room + *room / 2;

	if (array && count <= *room)
		return array;
	if (wanted < count)
		wanted = count;
	if (wanted < 16)
		wanted = 16;
	if (wanted >= UINT32_MAX)
		wanted = UINT32_MAX - 1;
	if (count > wanted || wanted > SIZE_MAX / size)
		return NULL;
	array = realloc(array, (size_t)wanted * size);
	if (array)
		*room = (uint32_t)wanted;
	return array;
}
