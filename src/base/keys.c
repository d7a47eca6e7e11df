/* SPDX-License-Identifier: ISC */
/* Keys in an array, found by a hash table with linear probing that is at most half full. */
#include "base/keys.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/) from a start that differs from run to run, so
 * that no trace can be made whose keys all meet in one cell. */
static uint64_t hash_of(const struct thrum__base_keys *keys, uint64_t number, const char *text,
	size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ keys->seed;

	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static uint32_t *cell_of(const struct thrum__base_keys *keys, uint64_t hash)
{
	return &keys->cells[hash & ((uint64_t)keys->room * 2 - 1)];
}

static uint32_t *next_cell(const struct thrum__base_keys *keys, uint32_t *cell)
{
	return cell + 1 == keys->cells + (size_t)keys->room * 2 ? keys->cells : cell + 1;
}

void *thrum__base_grow(void *array, uint32_t *room, size_t each)
{
	size_t grown = *room > 0 ? (size_t)*room * 2 : ROOM_MIN;

	if (grown > SIZE_MAX / 2 / each || grown > UINT32_MAX / 2)
		return NULL;
	array = realloc(array, grown * each);
	if (array)
		*room = (uint32_t)grown;
	return array;
}

static int grow(struct thrum__base_keys *keys)
{
	uint32_t room = keys->room;
	struct thrum__base_key *grown = thrum__base_grow(keys->keys, &room, sizeof(*grown));
	uint32_t *cells;

	if (!grown)
		return -THRUM_E_MEMORY;
	keys->keys = grown;
	cells = calloc((size_t)room * 2, sizeof(*cells));
	if (!cells)
		return -THRUM_E_MEMORY;
	free(keys->cells);
	keys->cells = cells;
	keys->room = room;
	for (uint32_t i = 0; i < keys->count; i++) {
		uint32_t *cell = cell_of(keys, grown[i].hash);

		while (*cell)
			cell = next_cell(keys, cell);
		*cell = i + 1;
	}
	return 0;
}

static int add_text(struct thrum__base_keys *keys, const char *text, size_t size)
{
	if (size > keys->text_room - keys->text_size) {
		size_t room = keys->text_room;
		char *grown;

		if (size > SIZE_MAX / 2 - room)
			return -THRUM_E_MEMORY;
		room = room * 2 + size + ROOM_MIN;
		grown = room > keys->text_room ? realloc(keys->text, room) : NULL;
		if (!grown)
			return -THRUM_E_MEMORY;
		keys->text = grown;
		keys->text_room = room;
	}
	if (size > 0)
		memcpy(keys->text + keys->text_size, text, size);
	keys->text_size += size;
	return 0;
}

/* The cell of a key, or the free one where it would be. */
static uint32_t *seek(const struct thrum__base_keys *keys, uint64_t hash, uint64_t number,
	const char *text, size_t size)
{
	uint32_t *cell;

	for (cell = cell_of(keys, hash); *cell; cell = next_cell(keys, cell)) {
		const struct thrum__base_key *key = &keys->keys[*cell - 1];

		if (key->hash == hash && key->number == number && key->size == size &&
			(size == 0 || memcmp(keys->text + key->text, text, size) == 0))
			break;
	}
	return cell;
}

uint32_t thrum__base_keys_find(const struct thrum__base_keys *keys, uint64_t number,
	const char *text, size_t size)
{
	if (keys->count == 0)
		return UINT32_MAX;
	/* Of a free cell: 0 - 1. */
	return *seek(keys, hash_of(keys, number, text, size), number, text, size) - 1;
}

int thrum__base_keys_add(struct thrum__base_keys *keys, uint64_t number, const char *text,
	size_t size, uint32_t *index)
{
	size_t at = keys->text_size;
	uint64_t hash;
	uint32_t *cell;

	if (keys->count == 0)
		keys->seed = (uint64_t)(uintptr_t)keys << 17;
	if (keys->count == keys->room && grow(keys) < 0)
		return -THRUM_E_MEMORY;
	hash = hash_of(keys, number, text, size);
	cell = seek(keys, hash, number, text, size);
	if (*cell) {
		*index = *cell - 1;
		return 0;
	}
	if (add_text(keys, text, size) < 0)
		return -THRUM_E_MEMORY;
	keys->keys[keys->count] = (struct thrum__base_key){hash, number, at, size};
	*index = keys->count++;
	*cell = keys->count;
	return 0;
}

const char *thrum__base_keys_text(const struct thrum__base_keys *keys, uint32_t index, size_t *size)
{
	*size = keys->keys[index].size;
	return *size > 0 ? keys->text + keys->keys[index].text : "";
}

void thrum__base_keys_free(struct thrum__base_keys *keys)
{
	free(keys->keys);
	free(keys->cells);
	free(keys->text);
	*keys = (struct thrum__base_keys){0};
}
