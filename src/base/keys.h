/* SPDX-License-Identifier: ISC */
/* Numbers the different keys that come up, a key being a number and a text: 0, 1, … in the order of
 * their first coming. */
#ifndef BASE_KEYS_H
#define BASE_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <thrum/trace.h>

struct thrum__base_key {
	uint64_t hash, number;
	size_t text, size; /* where in `text` of struct thrum__base_keys */
};

struct thrum__base_keys {
	struct thrum__base_key *keys;
	uint32_t count, room;
	uint64_t seed;
	uint32_t *cells; /* a hash table of `room` * 2 indices + 1; 0: free */
	char *text;
	size_t text_size, text_room;
};

/* *index is the key's number, a new one if it wasn't there. Returns 0 or -THRUM_E_MEMORY. An empty
 * set is all zero. */
THRUM__MUST_USE int thrum__base_keys_add(struct thrum__base_keys *, uint64_t number,
	const char *text, size_t size, uint32_t *index);

/* The key's number, or UINT32_MAX: it isn't there. */
uint32_t thrum__base_keys_find(const struct thrum__base_keys *, uint64_t number, const char *text,
	size_t size);

/* The text of a key, without a NUL; valid until the next is added. */
const char *thrum__base_keys_text(const struct thrum__base_keys *, uint32_t index, size_t *size);

/* The array with twice as much room, *room elements of `each` bytes; NULL: no memory, and nothing
 * has changed. */
void *thrum__base_grow(void *array, uint32_t *room, size_t each);

void thrum__base_keys_free(struct thrum__base_keys *);

#endif
