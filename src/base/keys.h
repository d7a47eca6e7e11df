/* SPDX-License-Identifier: ISC */
/*
 * A set of keys, each a number and a text. They are numbered 0, 1, … in the order in which they were
 * added first.
 */
#ifndef BASE_KEYS_H
#define BASE_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <thrum/trace.h>

#include "base/text.h"

struct thrum__base_key {
	uint64_t hash, number;
	size_t text, size; /* offset and size in the set's text */
};

struct thrum__base_keys {
	struct thrum__base_key *keys;
	uint32_t count, room;
	uint64_t seed;
	uint32_t *cells, cell_count; /* a hash table of indices + 1; 0: free */
	struct thrum__base_text text;
};

/* Finds or adds a key and sets *index to its number. An empty set is all zero. Returns 0, or
 * -THRUM_E_MEMORY and the set is as it was. */
THRUM__MUST_USE int thrum__base_keys_add(struct thrum__base_keys *, uint64_t number,
	const char *text, size_t size, uint32_t *index);

/* Returns the key's number, or UINT32_MAX when it isn't in the set. */
uint32_t thrum__base_keys_find(const struct thrum__base_keys *, uint64_t number, const char *text,
	size_t size);

/* Returns the text of a key, without a NUL. It is valid until the next key is added. */
const char *thrum__base_keys_text(const struct thrum__base_keys *, uint32_t index, size_t *size);

void thrum__base_keys_free(struct thrum__base_keys *);

#endif
