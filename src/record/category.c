/* SPDX-License-Identifier: ISC */
/*
 * Categories with their levels, and the mask that is made of them.
 *
 * The process has categories and levels whether it records or not. A recording begins with them;
 * from then on the mask is the truth, since other processes may change it, too. The levels here are
 * those with which the next recording begins.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "record/record.h"

/* ---- Categories ----------------------------------------------------------------------------- */

struct category {
	_Atomic uint32_t state; /* THRUM__CELL_FREE and so on */
	_Atomic int32_t level;
	char name[THRUM__CATEGORY_NAME];
};

static struct category categories[THRUM__CATEGORIES] = {
	{THRUM__CELL_NAMED, 3, "task"},
	{THRUM__CELL_NAMED, 3, "counter"},
	{THRUM__CELL_NAMED, 3, "log"},
};
/* The level of categories that nobody has named yet. */
static _Atomic int32_t level_of_others = 3;

/* Returns a category's state. Waits a little while the category is being written: that ends at
 * once, unless the writer is the very code that this signal handler interrupted. */
static uint32_t settled_state(struct category *c)
{
	uint32_t state = atomic_load(&c->state);

	for (int i = 0; i < 1000 && state == THRUM__CELL_WRITING; i++)
		state = atomic_load(&c->state);
	return state;
}

static bool claim_category(struct category *c)
{
	uint32_t state = THRUM__CELL_FREE;

	return atomic_compare_exchange_strong(&c->state, &state, THRUM__CELL_WRITING);
}

/* Gives the recording's category the level that somebody has wished for a category of its name. */
static void grant_wish(struct recorder *r, unsigned number)
{
	struct thrum__named_cell *wishes = r->controls.page->wishes;
	const char *name = categories[number].name;
	unsigned wish = thrum__format_cell_find(wishes, name, strlen(name));
	char text[THRUM__CATEGORY_NAME];
	int level;

	if (wish < THRUM__CATEGORIES && thrum__format_cell_read(&wishes[wish], text, &level))
		thrum__record_change(r, thrum__format_level_bits(number, 3),
			thrum__format_level_bits(number, level));
}

/* Shows a category's name to those that control the recording. */
static void publish_category(struct recorder *r, unsigned number)
{
	thrum__format_cell_name(&r->controls.page->categories[number], categories[number].name, 0);
	if (number > THRUM__CATEGORY_LOG)
		grant_wish(r, number);
}

void thrum__record_publish_categories(struct recorder *r)
{
	for (unsigned i = 0; i < THRUM__CATEGORIES; i++)
		if (atomic_load(&categories[i].state) == THRUM__CELL_NAMED &&
			atomic_load(&r->controls.page->categories[i].state) == THRUM__CELL_FREE)
			publish_category(r, i);
}

unsigned thrum__record_category_number(const char *given)
{
	char name[THRUM__CATEGORY_NAME];

	thrum__format_copy_text(name, given, sizeof name - 1);
	for (unsigned i = 0; i < THRUM__CATEGORIES; i++) {
		struct category *c = &categories[i];

		if (claim_category(c)) {
			memcpy(c->name, name, sizeof name);
			atomic_store(&c->level, atomic_load(&level_of_others));
			atomic_store(&c->state, THRUM__CELL_NAMED);
			struct recorder *r = atomic_load(&thrum__record_process.recorder);

			if (r && !r->counters_only)
				publish_category(r, i);
			return i;
		}
		if (settled_state(c) == THRUM__CELL_NAMED && strcmp(c->name, name) == 0)
			return i;
	}
	return THRUM__CATEGORIES - 1;
}

const char *thrum__record_category_name(unsigned number)
{
	return categories[number].name;
}

/* ---- Levels --------------------------------------------------------------------------------- */

void thrum__record_change(struct recorder *r, uint64_t clear, uint64_t set)
{
	thrum__format_controls_change(&r->controls, clear, set);
	/* A thread may come here while another one stops the recording. */
	if (!atomic_load(&thrum__record_process.recorder))
		atomic_store(thrum__record_mask(), 0);
}

void thrum__record_begin_mask(struct recorder *r)
{
	int32_t others = atomic_load(&level_of_others);
	uint64_t mask = 0;

	for (unsigned i = 0; i < THRUM__CATEGORIES; i++) {
		bool is_named = atomic_load(&categories[i].state) == THRUM__CELL_NAMED;

		mask |= thrum__format_level_bits(i,
			is_named ? atomic_load(&categories[i].level) : others);
	}
	/* As if all had been on before, so that a recording of everything has no history. The mask
	 * itself goes from nothing to its first value in one step. */
	_Atomic uint64_t all = UINT64_MAX;
	struct thrum__controls first = r->controls;

	first.mask = &all;
	thrum__format_controls_change(&first, ~mask, 0);
	atomic_store(r->controls.mask, mask);
	/* Nobody knows the recording yet, so there are no wishes. */
	for (unsigned i = 0; i < THRUM__CATEGORIES; i++)
		if (atomic_load(&categories[i].state) == THRUM__CELL_NAMED)
			thrum__format_cell_name(&r->controls.page->categories[i],
				categories[i].name, 0);
}

/* Sets the level for this recording and the next ones. */
static void set_level(unsigned number, int level)
{
	atomic_store(&categories[number].level, level);
	struct recorder *r = thrum__record_hold();

	if (!r)
		return;
	if (!r->counters_only)
		thrum__record_change(r, thrum__format_level_bits(number, 3),
			thrum__format_level_bits(number, level));
	thrum__record_let_go();
}

void thrum_level(const char *name, int level)
{
	if (!name)
		return;
	unsigned number = thrum__record_category_number(name);
	/* While recording, tasks get ids. */
	int lowest = number == THRUM__CATEGORY_TASK ? 0 : -1;

	set_level(number, level < lowest ? lowest : level > 3 ? 3 : level);
}

/* ---- The environment ------------------------------------------------------------------------ */

int thrum__record_levels_from_environment(void)
{
	const char *rest = secure_getenv("THRUM_ENABLE");
	char name[THRUM__CATEGORY_NAME];
	int level = 3, result;

	if (!rest)
		return 0;
	for (; (result = thrum__format_level_next(&rest, name, &level)) > 0; level = 3) {
		if (strcmp(name, "none") != 0) {
			unsigned number = thrum__record_category_number(name);
			int least = number == THRUM__CATEGORY_TASK ? 0 : -1;
			int32_t off = -1;

			atomic_store(&categories[number].level, level > least ? level : least);
			/* Tags ask for this level until they know their category. */
			if (level >= 0)
				atomic_compare_exchange_strong(&categories[THRUM__CATEGORY_TASK]
									.level,
					&off, 0);
			continue;
		}
		atomic_store(&level_of_others, -1);
		for (unsigned i = 0; i < THRUM__CATEGORIES; i++)
			atomic_store(&categories[i].level, -1);
	}
	return result;
}
