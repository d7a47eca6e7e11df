/* SPDX-License-Identifier: ISC */
/* Finds tasks by their ids: a hash table of pages of consecutive ids. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/parts.h"

#define ROOM_MIN 64 /* slots at first */

/* Returns the slot at which the search for a key begins. */
static size_t home_slot(const struct thrum__model_ids *ids, uint64_t key)
{
	return (size_t)thrum__base_hash_number((uintptr_t)ids, key) & (ids->room - 1);
}

/* Returns the slot of a page, or the empty slot where it belongs. */
static size_t find_slot(const struct thrum__model_ids *ids, uint64_t key)
{
	size_t i = home_slot(ids, key);

	while (ids->slots[i] && ids->slots[i]->key != key)
		i = (i + 1) & (ids->room - 1);
	return i;
}

/* Called when pages move: `recent` may name one that is gone. */
static void forget_recent(struct thrum__model_ids *ids)
{
	for (size_t i = 0; i < THRUM__RECENT; i++)
		ids->recent[i].key = UINT64_MAX;
}

int thrum__model_ids_create(struct thrum__model_ids **created)
{
	struct thrum__model_ids *ids = calloc(1, sizeof *ids);

	if (!ids)
		return -THRUM_E_MEMORY;
	ids->room = ROOM_MIN;
	ids->slots = calloc(ids->room, sizeof *ids->slots);
	if (!ids->slots) {
		free(ids);
		return -THRUM_E_MEMORY;
	}
	forget_recent(ids);
	*created = ids;
	return 0;
}

void thrum__model_ids_destroy(struct thrum__model_ids *ids)
{
	if (!ids)
		return;
	for (size_t i = 0; i < ids->room; i++)
		free(ids->slots[i]);
	free(ids->slots);
	free(ids);
}

struct thrum__model_id_page *thrum__model_ids_page(const struct thrum__model_ids *ids, uint64_t key)
{
	return ids->slots[find_slot(ids, key)];
}

/* Doubles the hash table. Returns 0 or -THRUM_E_MEMORY. */
static int grow_page_slots(struct thrum__model_ids *ids)
{
	struct thrum__model_id_page **old = ids->slots;
	size_t old_room = ids->room;

	if (old_room > SIZE_MAX / 2 / sizeof *old)
		return -THRUM_E_MEMORY;
	struct thrum__model_id_page **slots = calloc(old_room * 2, sizeof *slots);

	if (!slots)
		return -THRUM_E_MEMORY;
	ids->slots = slots;
	ids->room = old_room * 2;
	for (size_t i = 0; i < old_room; i++)
		if (old[i])
			slots[find_slot(ids, old[i]->key)] = old[i];
	free(old);
	return 0;
}

/* Returns the page of a key, a new one if need be; NULL when there is no memory. */
static struct thrum__model_id_page *make_page(struct thrum__model_ids *ids, uint64_t key)
{
	size_t i = find_slot(ids, key);

	if (ids->slots[i])
		return ids->slots[i];
	if (ids->used >= ids->room / 2) {
		if (grow_page_slots(ids))
			return NULL;
		i = find_slot(ids, key);
	}
	ids->slots[i] = calloc(1, sizeof *ids->slots[i]);
	if (!ids->slots[i])
		return NULL;
	ids->slots[i]->key = key;
	ids->used++;
	return ids->slots[i];
}

int thrum__model_ids_set(struct thrum__model_ids *ids, uint64_t id, uint32_t task)
{
	uint64_t key = id >> THRUM__PAGE_SHIFT;
	size_t recent = key % THRUM__RECENT;

	if (ids->recent[recent].key != key) {
		struct thrum__model_id_page *page = make_page(ids, key);

		if (!page)
			return -THRUM_E_MEMORY;
		ids->recent[recent].key = key;
		ids->recent[recent].page = page;
	}
	struct thrum__model_id_page *page = ids->recent[recent].page;
	uint32_t *entry = &page->task[id % THRUM__PAGE];

	page->used += *entry == 0;
	*entry = task + 1;
	return 0;
}

/* Frees a page, and moves the pages behind it that can't be found across the hole. */
static void remove_page(struct thrum__model_ids *ids, size_t hole)
{
	free(ids->slots[hole]);
	ids->slots[hole] = NULL;
	ids->used--;
	for (size_t i = hole;;) {
		i = (i + 1) & (ids->room - 1);
		if (!ids->slots[i])
			break;
		size_t home = home_slot(ids, ids->slots[i]->key);

		if (((i - home) & (ids->room - 1)) >= ((i - hole) & (ids->room - 1))) {
			ids->slots[hole] = ids->slots[i];
			ids->slots[i] = NULL;
			hole = i;
		}
	}
	forget_recent(ids);
}

void thrum__model_ids_remove(struct thrum__model_ids *ids, uint64_t id, uint32_t task)
{
	size_t i = find_slot(ids, id >> THRUM__PAGE_SHIFT);
	struct thrum__model_id_page *page = ids->slots[i];

	if (!page || page->task[id % THRUM__PAGE] != task + 1)
		return;
	page->task[id % THRUM__PAGE] = 0;
	if (--page->used == 0)
		remove_page(ids, i);
}

size_t thrum__model_ids_memory(const struct thrum__model_ids *ids)
{
	return sizeof *ids + ids->room * sizeof *ids->slots + ids->used * sizeof *ids->slots[0];
}
