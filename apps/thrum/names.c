/* SPDX-License-Identifier: ISC */
/* A set of names as a hash table with linear probing. */
#include "names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct name {
	char *text;
	size_t size;
	uint64_t hash;
};

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static struct name *find_cell(const struct names *names, const char *text, size_t size,
	uint64_t hash)
{
	size_t i = hash & (names->room - 1);

	for (;; i = (i + 1) & (names->room - 1)) {
		struct name *name = &names->cells[i];

		if (!name->text ||
			(name->hash == hash && name->size == size &&
				memcmp(name->text, text, size) == 0))
			return name;
	}
}

static int grow_names(struct names *names)
{
	struct names next = {.room = names->room ? names->room * 2 : 64, .count = names->count};

	next.cells = calloc(next.room, sizeof(*next.cells));
	if (!next.cells)
		return -1;
	for (size_t i = 0; i < names->room; i++) {
		const struct name *name = &names->cells[i];

		if (name->text)
			*find_cell(&next, name->text, name->size, name->hash) = *name;
	}
	free(names->cells);
	*names = next;
	return 0;
}

void names_add(struct names *names, const char *text, size_t size)
{
	uint64_t hash = hash_of(text, size);
	struct name *name;
	char *copy;

	if (names->count * 2 >= names->room && grow_names(names) < 0)
		return;
	name = find_cell(names, text, size, hash);
	if (name->text)
		return;
	copy = malloc(size + 1);
	if (!copy)
		return;
	memcpy(copy, text, size);
	*name = (struct name){copy, size, hash};
	names->count++;
}

void names_finish(struct names *names)
{
	for (size_t i = 0; i < names->room; i++)
		free(names->cells[i].text);
	free(names->cells);
	*names = (struct names){0};
}
