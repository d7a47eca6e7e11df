/* SPDX-License-Identifier: ISC */
/* Texts, each kept once. Their bytes lie in chunks, and only a sweep moves them. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/parts.h"

#define CHUNK ((size_t)64 << 10)

struct thrum__model_chunk {
	struct thrum__model_chunk *next;
	size_t used, room;
	char text[];
};

void thrum__model_strings_init(struct thrum__model_strings *s)
{
	*s = (struct thrum__model_strings){.free = THRUM__NONE};
}

static void free_chunks(struct thrum__model_chunk *chunk)
{
	while (chunk) {
		struct thrum__model_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

void thrum__model_strings_finish(struct thrum__model_strings *s)
{
	free_chunks(s->chunks);
	free(s->all);
	free(s->slots);
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static uint32_t hash_of(const struct thrum__model_strings *s, const char *text, size_t size)
{
	return (uint32_t)thrum__base_hash_text((uintptr_t)s, text, size);
}

/* Returns a copy of a text, with a NUL behind it; NULL when there is no memory. */
static const char *store_text(struct thrum__model_strings *s, const char *text, size_t size)
{
	struct thrum__model_chunk *chunk = s->chunks;

	if (!chunk || chunk->room - chunk->used <= size) {
		size_t room = size < CHUNK / 4 ? CHUNK : size + 1;

		if (size >= SIZE_MAX - sizeof *chunk)
			return NULL;
		chunk = malloc(sizeof *chunk + room);
		if (!chunk)
			return NULL;
		*chunk = (struct thrum__model_chunk){.room = room};
		s->bytes += room;
		/* A chunk that is made for one long text is full: the one before it still fills. */
		if (room != CHUNK && s->chunks) {
			chunk->next = s->chunks->next;
			s->chunks->next = chunk;
		} else {
			chunk->next = s->chunks;
			s->chunks = chunk;
		}
	}
	char *copy = chunk->text + chunk->used;

	memcpy(copy, text, size);
	copy[size] = '\0';
	chunk->used += size + 1;
	return copy;
}

/* ---- The hash table ------------------------------------------------------------------------ */

/*
 * Tells whether two texts of this size are the same. Most are short. Some versions of memcmp load more
 * bytes than they compare, which is slow where the memory behind them was never touched.
 */
static bool are_same(const char *a, const char *b, size_t size)
{
	size_t i = 0;

	for (; i + 8 <= size; i += 8)
		if (thrum__base_hash_word(a + i) != thrum__base_hash_word(b + i))
			return false;
	for (; i < size; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Returns the slot of a text, or the empty slot where it belongs. */
static struct thrum__string_slot *find_text(const struct thrum__model_strings *s, uint32_t hash,
	const char *text, size_t size)
{
	for (uint32_t i = hash;; i++) {
		struct thrum__string_slot *slot = &s->slots[i & (s->slot_room - 1)];

		if (slot->string == 0)
			return slot;
		const struct thrum__model_string_entry *string = &s->all[slot->string - 1];

		if (slot->hash == hash && string->size == size &&
			are_same(string->text, text, size))
			return slot;
	}
}

/* Puts an entry whose text is not in the table into an empty slot. */
static void put_slot(struct thrum__string_slot *slots, uint32_t room,
	struct thrum__string_slot slot)
{
	uint32_t i = slot.hash & (room - 1);

	while (slots[i].string)
		i = (i + 1) & (room - 1);
	slots[i] = slot;
}

/* Doubles the hash table. Returns 0 or -THRUM_E_MEMORY. */
static int grow_slots(struct thrum__model_strings *s)
{
	uint32_t room = s->slot_room ? s->slot_room * 2 : 64;

	if (room == 0)
		return -THRUM_E_MEMORY;
	struct thrum__string_slot *slots = calloc(room, sizeof *slots);

	if (!slots)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < s->slot_room; i++)
		if (s->slots[i].string)
			put_slot(slots, room, s->slots[i]);
	free(s->slots);
	s->slots = slots;
	s->slot_room = room;
	return 0;
}

/* Returns a free number, or NONE when there is no memory. */
static uint32_t take_number(struct thrum__model_strings *s)
{
	uint32_t number = s->free;

	if (number != THRUM__NONE) {
		s->free = s->all[number].size;
		return number;
	}
	void *all = s->all;
	int error = s->count >= UINT32_MAX - 2
		? -THRUM_E_MEMORY
		: thrum__model_array_grow(&all, &s->room, s->count + 1, sizeof *s->all);

	s->all = all;
	return error ? THRUM__NONE : s->count++;
}

uint32_t thrum__model_strings_find(const struct thrum__model_strings *s, const char *text,
	size_t size)
{
	if (s->slot_room == 0)
		return THRUM__NONE;
	return find_text(s, hash_of(s, text, size), text, size)->string - 1;
}

uint32_t thrum__model_strings_add(struct thrum__model_strings *s, const char *text, size_t size)
{
	uint32_t hash = hash_of(s, text, size);

	if (s->live >= s->slot_room / 2 && grow_slots(s))
		return THRUM__NONE;
	struct thrum__string_slot *slot = find_text(s, hash, text, size);

	if (slot->string)
		return slot->string - 1;
	if (size >= UINT32_MAX)
		return THRUM__NONE;
	const char *copy = store_text(s, text, size);
	uint32_t number = copy ? take_number(s) : THRUM__NONE;

	if (number == THRUM__NONE)
		return THRUM__NONE;
	s->all[number] = (struct thrum__model_string_entry){copy, (uint32_t)size, THRUM__NONE};
	*slot = (struct thrum__string_slot){hash, number + 1};
	s->live++;
	return number;
}

/* ---- Sweeping ------------------------------------------------------------------------------ */

void thrum__model_strings_sweep(struct thrum__model_strings *s, const bool *is_used)
{
	struct thrum__model_strings fresh = {0};
	struct thrum__string_slot *slots = s->slot_room ? calloc(s->slot_room, sizeof *slots)
							: NULL;
	const char **copies = calloc((size_t)s->count + 1, sizeof *copies);
	bool is_done = slots && copies;

	for (uint32_t i = 0; is_done && i < s->count; i++) {
		if (is_used[i] && s->all[i].text)
			copies[i] = store_text(&fresh, s->all[i].text, s->all[i].size);
		is_done = copies[i] || !is_used[i] || !s->all[i].text;
	}
	if (!is_done) {
		free_chunks(fresh.chunks);
		free(slots);
		free(copies);
		return;
	}
	s->live = 0;
	for (uint32_t i = 0; i < s->slot_room; i++) {
		struct thrum__string_slot slot = s->slots[i];

		if (slot.string && copies[slot.string - 1]) {
			put_slot(slots, s->slot_room, slot);
			s->live++;
		}
	}
	s->free = THRUM__NONE;
	for (uint32_t i = s->count; i-- > 0;) {
		s->all[i].text = copies[i];
		if (!copies[i]) {
			s->all[i] = (struct thrum__model_string_entry){NULL, s->free, THRUM__NONE};
			s->free = i;
		}
	}
	free(copies);
	free(s->slots);
	free_chunks(s->chunks);
	s->slots = slots;
	s->chunks = fresh.chunks;
	s->bytes = s->swept = fresh.bytes;
}

size_t thrum__model_strings_memory(const struct thrum__model_strings *s)
{
	return s->bytes + s->room * sizeof *s->all + s->slot_room * sizeof *s->slots;
}
