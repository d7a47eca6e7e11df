/* SPDX-License-Identifier: ISC */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 16

void *thrum__base_grow(void *array, uint32_t *room, uint64_t count, size_t each)
{
	uint64_t wanted = (uint64_t)*room + *room / 2;

	if (array && count <= *room)
		return array;
	if (wanted < count)
		wanted = count;
	if (wanted < ROOM_MIN)
		wanted = ROOM_MIN;
	if (wanted >= UINT32_MAX)
		wanted = UINT32_MAX - 1;
	if (count > wanted || wanted > SIZE_MAX / each)
		return NULL;
	array = realloc(array, (size_t)wanted * each);
	if (array)
		*room = (uint32_t)wanted;
	return array;
}

void *thrum__base_grow_zeroed(void *array, uint32_t *room, uint64_t count, size_t each)
{
	uint32_t before = *room;
	char *grown = thrum__base_grow(array, room, count, each);

	if (grown && *room > before)
		memset(grown + before * each, 0, (size_t)(*room - before) * each);
	return grown;
}
