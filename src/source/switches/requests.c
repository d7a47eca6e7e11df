/* SPDX-License-Identifier: ISC */
/* The requests that a device has, by their first sector: a hash table without gaps in its chains. */
#include <stdlib.h>

#include "base/hash.h"
#include "source/switches/parts.h"

#define ROOM_MIN 16u

static uint32_t place_of(const struct requests *r, uint64_t sector)
{
	return (uint32_t)thrum__base_hash_number(0, sector) & (r->room - 1);
}

/* The cell of a sector, or the free one where it belongs. */
static struct request *cell_of(const struct requests *r, uint64_t sector)
{
	uint32_t i = place_of(r, sector);

	while (r->all[i].is_used && r->all[i].sector != sector)
		i = (i + 1) & (r->room - 1);
	return &r->all[i];
}

struct request *thrum__source_requests_find(const struct requests *r, uint64_t sector)
{
	struct request *cell = r->room > 0 ? cell_of(r, sector) : NULL;

	return cell && cell->is_used ? cell : NULL;
}

/* Keeps a quarter of the cells free. */
static bool grow(struct requests *r)
{
	struct requests grown = {.count = r->count, .room = r->room ? r->room * 2 : ROOM_MIN};

	if (r->room > 0 && r->count < r->room / 4 * 3)
		return true;
	grown.all = grown.room > 0 ? calloc(grown.room, sizeof *grown.all) : NULL;
	if (!grown.all)
		return false;
	for (uint32_t i = 0; i < r->room; i++)
		if (r->all[i].is_used)
			*cell_of(&grown, r->all[i].sector) = r->all[i];
	free(r->all);
	*r = grown;
	return true;
}

struct request *thrum__source_requests_add(struct requests *r, uint64_t sector)
{
	struct request *cell = grow(r) ? cell_of(r, sector) : NULL;

	if (!cell)
		return NULL;
	r->count += !cell->is_used;
	*cell = (struct request){.sector = sector, .is_used = true};
	return cell;
}

void thrum__source_requests_remove(struct requests *r, struct request *request)
{
	uint32_t hole = (uint32_t)(request - r->all), mask = r->room - 1;

	r->count--;
	/* Those behind it move into the hole, unless one would come before its own place. */
	for (uint32_t i = (hole + 1) & mask; r->all[i].is_used; i = (i + 1) & mask) {
		uint32_t from = place_of(r, r->all[i].sector);

		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		r->all[hole] = r->all[i];
		hole = i;
	}
	r->all[hole].is_used = false;
}
