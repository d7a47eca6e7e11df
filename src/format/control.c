/* SPDX-License-Identifier: ISC */
/* Changes the mask of all that is recorded, and keeps the history of the changes. */
#include "format/control.h"

#include <string.h>

void thrum__format_controls_init(struct thrum__controls *c, void *section, uint64_t size)
{
	c->page = section;
	c->mask = &c->page->mask;
	c->history = (void *)((uint8_t *)section + THRUM__CONTROL_PAGE);
	c->room = (uint32_t)((size - THRUM__CONTROL_PAGE) / sizeof *c->history);
}

/* ---- Changes -------------------------------------------------------------------------------- */

void thrum__format_controls_change(const struct thrum__controls *c, uint64_t clear, uint64_t set)
{
	uint64_t old = atomic_load(c->mask), new = (old & ~clear) | set;

	if (old == new)
		return;
	uint32_t number = atomic_fetch_add(&c->page->changes, 1);
	struct thrum__change *change = &c->history[number % c->room];

	do {
		new = (old & ~clear) | set;
		atomic_store_explicit(&change->ticket, 0, memory_order_relaxed);
		/* Partner: the reader's acquire fence before it looks at the ticket again. */
		atomic_thread_fence(memory_order_release);
		change->cleared = old & ~new;
		change->set = new & ~old;
		atomic_store_explicit(&change->after, 0, memory_order_relaxed);
		change->before = c->ticks(c->owner, false);
		/* Partner: the reader's first, acquiring look at the ticket. */
		atomic_store_explicit(&change->ticket, number + 1, memory_order_release);
		atomic_fetch_or(&c->page->cleared, change->cleared);
	} while (!atomic_compare_exchange_strong(c->mask, &old, new));
	atomic_store_explicit(&change->after, c->ticks(c->owner, true), memory_order_release);
}

void thrum__format_controls_repair(const struct thrum__controls *c)
{
	uint32_t end = atomic_load(&c->page->changes);

	for (uint32_t i = 0; i < c->room && i < end; i++) {
		struct thrum__change *change = &c->history[(end - 1 - i) % c->room];
		bool is_done = (atomic_load(c->mask) & change->set) == change->set;

		if (is_done && atomic_load(&change->ticket) && !atomic_load(&change->after))
			atomic_store(&change->after, c->ticks(c->owner, true));
	}
}

/* ---- Names ---------------------------------------------------------------------------------- */

void thrum__format_cell_name(struct thrum__named_cell *cell, const char *name, int level)
{
	uint32_t state = THRUM__CELL_FREE;
	uint32_t named = THRUM__CELL_NAMED | (uint32_t)(level + 1) << 8;

	if (!atomic_compare_exchange_strong(&cell->state, &state, THRUM__CELL_WRITING))
		return;
	thrum__format_copy_text(cell->name, name, sizeof cell->name - 1);
	/* Partner: thrum__format_cell_read(). */
	atomic_store_explicit(&cell->state, named, memory_order_release);
}

size_t thrum__format_cell_read(const struct thrum__named_cell *cell,
	char name[THRUM__CATEGORY_NAME], int *level)
{
	uint32_t state = atomic_load_explicit(&cell->state, memory_order_acquire);
	unsigned raised = state >> 8 & 255;

	if ((state & 255) != THRUM__CELL_NAMED)
		return 0;
	memcpy(name, cell->name, THRUM__CATEGORY_NAME);
	name[THRUM__CATEGORY_NAME - 1] = '\0';
	*level = (raised > 4 ? 4 : (int)raised) - 1;
	return strlen(name);
}

unsigned thrum__format_cell_find(const struct thrum__named_cell *cells, const char *name,
	size_t size)
{
	char text[THRUM__CATEGORY_NAME];
	int level;

	for (unsigned i = 0; i < THRUM__CATEGORIES; i++)
		if (thrum__format_cell_read(&cells[i], text, &level) == size && size > 0 &&
			memcmp(text, name, size) == 0)
			return i;
	return THRUM__CATEGORIES;
}

/* ---- Levels --------------------------------------------------------------------------------- */

static const char *const level_names[] = {"off", "always", "info", "debug", "all"};
#define LEVELS (sizeof level_names / sizeof *level_names)

const char *thrum__format_level_name(int level)
{
	return level_names[level + 1];
}

bool thrum__format_level_parse(const char *text, size_t size, int *level)
{
	for (size_t i = 0; i < LEVELS; i++) {
		const char *name = level_names[i];
		bool is_number = i > 0 && size == 1 && text[0] == '0' + (int)i - 1;

		if (is_number || (strlen(name) == size && memcmp(name, text, size) == 0)) {
			*level = (int)i - 1;
			return true;
		}
	}
	return false;
}

int thrum__format_level_next(const char **rest, char name[THRUM__CATEGORY_NAME], int *level)
{
	const char *item = *rest;
	const char *comma = strchr(item, ',');
	size_t size = comma ? (size_t)(comma - item) : strlen(item), length = size;

	if (!*item)
		return 0;
	*rest = item + size + (item[size] == ',');
	/* The last equals sign, as a category's name may hold others. */
	while (length > 0 && item[length - 1] != '=')
		length--;
	bool has_level = length > 0;

	length = has_level ? length - 1 : size;
	size_t kept = length < THRUM__CATEGORY_NAME - 1 ? length : THRUM__CATEGORY_NAME - 1;

	memcpy(name, item, kept);
	name[kept] = '\0';
	if (kept < length || kept == 0)
		return -THRUM_E_ARGUMENT;
	if (has_level && !thrum__format_level_parse(item + length + 1, size - length - 1, level))
		return -THRUM_E_ARGUMENT;
	return 1;
}
