/* SPDX-License-Identifier: ISC */
/* Definitions: names that are written once, so that events need only their numbers. */
#include <string.h>

#include "base/hash.h"
#include "record/record.h"

/* ---- Definitions ---------------------------------------------------------------------------- */

static uint32_t hash_of(const struct thrum__definition *d, size_t text_size)
{
	return (uint32_t)thrum__base_hash_text(d->number ^ (uint64_t)d->parent << 16, d->text,
		text_size);
}

static bool is_same_definition(const struct thrum__definition *a, const struct thrum__definition *b,
	size_t text_size)
{
	return atomic_load_explicit(&a->type, memory_order_acquire) == b->type &&
		a->number == b->number && a->parent == b->parent &&
		memcmp(a->text, b->text, text_size) == 0;
}

/* Writes a new cell. Returns its number, or 0 if the table is full. */
static uint16_t add_definition(struct recorder *r, const struct thrum__definition *d,
	size_t text_size)
{
	uint32_t number = atomic_load(&r->definitions_used);

	do {
		if (number >= r->definition_count) {
			thrum__record_count_lost(THRUM__LOST_DEFINITIONS);
			return 0;
		}
	} while (!atomic_compare_exchange_weak(&r->definitions_used, &number, number + 1));
	struct thrum__definition *cell = &r->definitions[number];

	cell->number = d->number;
	cell->parent = d->parent;
	memcpy(cell->text, d->text, text_size);
	/* Partner: the reader's acquiring look at the type. */
	atomic_store_explicit(&cell->type, d->type, memory_order_release);
	return (uint16_t)number;
}

/* Two threads that define the same thing at once may fill two cells, of which one number is used:
 * the one that gets into the hash table. */
uint16_t thrum__record_define(struct recorder *r, const struct thrum__definition *d,
	size_t text_size, uint32_t *id)
{
	uint32_t mask = r->known_mask, at = hash_of(d, text_size) & mask;
	uint16_t added = 0;

	for (;; at = (at + 1) & mask) {
		uint16_t known = atomic_load(&r->known[at]);

		/* The hash table has more places than there are definitions, so an empty one is
		 * always found. */
		if (!known) {
			if (!added)
				added = add_definition(r, d, text_size);
			if (!added ||
				atomic_compare_exchange_strong(&r->known[at], &known, added)) {
				known = added;
				break;
			}
		}
		if (is_same_definition(&r->definitions[known], d, text_size)) {
			added = known;
			break;
		}
	}
	if (added)
		__atomic_store_n(id, r->generation << 16 | added, __ATOMIC_RELEASE);
	return added;
}

static uint16_t define_category(struct recorder *r, const char *name, unsigned number)
{
	struct thrum__definition d = {.type = THRUM__DEFINES_CATEGORY, .number = number};
	size_t size = thrum__format_copy_text(d.text, name, sizeof d.text - 1) + 1;
	uint32_t id;

	return thrum__record_define(r, &d, size, &id);
}

uint16_t thrum__record_define_tag(struct recorder *r, struct thrum_tag *tag)
{
	uint32_t level = tag->level > 3 ? 3 : tag->level;
	struct thrum__definition d = {.type = THRUM__DEFINES_TAG, .number = level};

	if (tag->category) {
		uint32_t known = __atomic_load_n(&tag->category->id, __ATOMIC_ACQUIRE);
		unsigned number = known ? known - 1
					: thrum__record_category_number(tag->category->name);

		__atomic_store_n(&tag->category->id, number + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&tag->bit, number * 4 + level, __ATOMIC_RELAXED);
		d.parent = define_category(r, thrum__record_category_name(number), number);
	}
	size_t size = thrum__format_copy_text(d.text, tag->name, sizeof d.text - 1) + 1;

	return thrum__record_define(r, &d, size, &tag->id);
}

/* Defines a module and its path. Returns the module's number, or 0 if the table is full. */
static uint16_t define_module(struct recorder *r, const struct thrum__port_module *module)
{
	struct thrum__definition d = {.type = THRUM__DEFINES_MODULE,
		.number = (uint32_t)(module->size / 4096)};
	size_t build_id = strlen(module->build_id) + 1;
	uint32_t id;

	memcpy(d.text, module->build_id, build_id);
	thrum__port_put_hex(d.text + build_id, module->address);
	size_t size = build_id + strlen(d.text + build_id) + 1;
	uint16_t number = thrum__record_define(r, &d, size, &id);
	size_t length = strlen(module->path), room = sizeof d.text - 1;

	for (size_t at = 0; number && at < length; at += room) {
		struct thrum__definition piece = {.type = THRUM__DEFINES_PATH,
			.number = (uint32_t)(at / room),
			.parent = number};

		size = length - at < room ? length - at : room;
		memcpy(piece.text, module->path + at, size);
		thrum__record_define(r, &piece, size + 1, &id);
	}
	return number;
}

/* Writes the places above a site, less the module's address, as hex digits with spaces between. Returns the
 * size with the ending NUL. */
static size_t put_above(char *text, const struct thrum_site *site, uintptr_t module)
{
	const struct thrum__site_chain *chain = (const struct thrum__site_chain *)site;
	char *to = text;

	for (uint32_t i = 0; i < site->line && i < THRUM__ABOVE_MAX; i++) {
		if (i > 0)
			*to++ = ' ';
		thrum__port_put_hex(to, (uintptr_t)chain->above[i] - module);
		to += strlen(to);
	}
	*to = '\0';
	return (size_t)(to - text) + 1;
}

static uint16_t define_address(struct recorder *r, struct thrum_site *site)
{
	struct thrum__port_module module;
	/* Another thread may try to store the same address just now (src/adapt/base/site.c). */
	const char *address = __atomic_load_n(&site->function, __ATOMIC_RELAXED);

	if (!thrum__port_find_module(address, &module))
		return 0;
	struct thrum__definition d = {.type = THRUM__DEFINES_ADDRESS,
		.number = (uint32_t)((uintptr_t)address - module.address),
		.parent = define_module(r, &module)};

	size_t size = put_above(d.text, site, module.address);

	return d.parent ? thrum__record_define(r, &d, size, &site->id) : 0;
}

uint16_t thrum__record_define_site(struct recorder *r, struct thrum_site *site)
{
	if (!site)
		return 0;
	if (!site->file)
		return define_address(r, site);
	struct thrum__definition d = {.type = THRUM__DEFINES_SITE, .number = site->line};
	size_t size = thrum__format_put_site(d.text, site->function, site->file);

	return thrum__record_define(r, &d, size, &site->id);
}
