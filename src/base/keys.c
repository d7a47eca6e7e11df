/* SPDX-License-Identifier: ISC */
/* Keys in an array, found by a hash table with linear probing that is at most half full. */
#include "base/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define CELLS_MIN 128

static uint64_t hash_of(const struct thrum__base_keys *keys, uint64_t number, const char *text,
	size_t size)
{
	return thrum__base_hash_text(thrum__base_hash_number(keys->seed, number), text, size);
}

static uint32_t *cell_of(const struct thrum__base_keys *keys, uint64_t hash)
{
	return &keys->cells[hash & (keys->cell_count - 1)];
}

static uint32_t *next_cell(const struct thrum__base_keys *keys, uint32_t *cell)
{
	return cell + 1 == keys->cells + keys->cell_count ? keys->cells : cell + 1;
}

/* Makes room for one more key. */
static int make_room(struct thrum__base_keys *keys)
{
	struct thrum__base_key *grown = thrum__base_grow(keys->keys, &keys->room,
		keys->count + UINT64_C(1), sizeof *grown);
	uint64_t cell_count = keys->cell_count > 0 ? (uint64_t)keys->cell_count * 2 : CELLS_MIN;
	uint32_t *cells;

	if (!grown)
		return -THRUM_E_MEMORY;
	keys->keys = grown;
	if (keys->count < keys->cell_count / 2)
		return 0;
	cells = cell_count <= UINT32_MAX ? calloc((size_t)cell_count, sizeof *cells) : NULL;
	if (!cells)
		return -THRUM_E_MEMORY;
	free(keys->cells);
	keys->cells = cells;
	keys->cell_count = (uint32_t)cell_count;
	for (uint32_t i = 0; i < keys->count; i++) {
		uint32_t *cell = cell_of(keys, grown[i].hash);

		while (*cell)
			cell = next_cell(keys, cell);
		*cell = i + 1;
	}
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
			(size == 0 || memcmp(keys->text.bytes + key->text, text, size) == 0))
			break;
	}
	return cell;
}

uint32_t thrum__base_keys_find(const struct thrum__base_keys *keys, uint64_t number,
	const char *text, size_t size)
{
	if (keys->count == 0)
		return UINT32_MAX;
	/* A free cell is 0, which gives UINT32_MAX. */
	return *seek(keys, hash_of(keys, number, text, size), number, text, size) - 1;
}

int thrum__base_keys_add(struct thrum__base_keys *keys, uint64_t number, const char *text,
	size_t size, uint32_t *index)
{
	size_t at = keys->text.size;
	uint64_t hash;
	uint32_t *cell;

	if (keys->count == 0) {
		keys->seed = (uintptr_t)keys;
		keys->text.grows = true;
	}
	if ((keys->count == keys->room || keys->count >= keys->cell_count / 2) &&
		make_room(keys) < 0)
		return -THRUM_E_MEMORY;
	hash = hash_of(keys, number, text, size);
	cell = seek(keys, hash, number, text, size);
	if (*cell) {
		*index = *cell - 1;
		return 0;
	}
	thrum__base_text_bytes(&keys->text, text, size);
	if (keys->text.failed) {
		keys->text.failed = false;
		return -THRUM_E_MEMORY;
	}
	keys->keys[keys->count] = (struct thrum__base_key){hash, number, at, size};
	*index = keys->count++;
	*cell = keys->count;
	return 0;
}

const char *thrum__base_keys_text(const struct thrum__base_keys *keys, uint32_t index, size_t *size)
{
	*size = keys->keys[index].size;
	return *size > 0 ? keys->text.bytes + keys->keys[index].text : "";
}

void thrum__base_keys_free(struct thrum__base_keys *keys)
{
	free(keys->keys);
	free(keys->cells);
	thrum__base_text_free(&keys->text);
	*keys = (struct thrum__base_keys){0};
}
