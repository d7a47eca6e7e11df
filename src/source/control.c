/* SPDX-License-Identifier: ISC */
/* Changes from outside which events a program records. */
#define _GNU_SOURCE
#include "source/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/clock.h"
#include "format/control.h"
#include "format/packet.h"
#include "port/cpu.h"
#include "port/port.h"
#include "read/read.h"
#include "source/input.h"

struct thrum__source_control {
	struct thrum__input input; /* its file is open for reading and writing */
	struct thrum__header header;
	void *mapping; /* of the section, and the rest of a page before it */
	size_t mapped;
	struct thrum__controls controls;
};

/* ---- Opening -------------------------------------------------------------------------------- */

#define READING_EVERY 1 /* seconds between two readings of a program's own clock, at most */

/* Returns the recording's clock now: see struct thrum__controls. */
static uint64_t read_ticks(void *owner, bool is_after)
{
	struct thrum__source_control *c = owner;

	switch (c->header.clock_kind) {
	case THRUM__CLOCK_TSC: return read_tsc() >> 5;
	case THRUM__CLOCK_MONOTONIC: return thrum__port_monotonic() / 4;
	default: break;
	}
	/* Only the program can read its own clock. */
	struct thrum__header now = c->header;

	if (thrum__format_read_clocks(&c->input, &now))
		return 0;
	const struct thrum__reading *latest = thrum__format_latest_clock(&now);

	return (latest ? latest->ticks : 0) +
		(is_after ? 2 * READING_EVERY * now.clock_frequency : 0);
}

static uint32_t state_of(const struct thrum__source_control *c)
{
	uint32_t state = 0;

	thrum__format_input_read(&c->input, offsetof(struct thrum__header, state), &state,
		sizeof state);
	return state;
}

static int open_file(const char *file, struct thrum__source_control *c,
	struct thrum_error_info *info)
{
	struct stat status;
	int fd = open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		int error = thrum__source_error_of(errno);

		return thrum__read_error_set(info, error, 0, "can't be opened for writing: %s",
			thrum_error_message(error));
	}
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0, "not a file");
	}
	return thrum__source_input_of(fd, &c->input);
}

static int check_recording(const struct thrum__source_control *c, struct thrum_error_info *info)
{
	const struct thrum__header *h = &c->header;

	if (!thrum__source_is_recorded_to(&c->input, h))
		return thrum__read_error_set(info, -THRUM_E_NOT_RECORDING, 0,
			"the recording has ended");
	if (h->control.size == 0 ||
		h->control.offset + h->control.size > c->input.size(c->input.owner))
		return thrum__read_error_set(info, -THRUM_E_NOT_RECORDING, 0,
			"it has counters only, or an older thrum writes it: it can't be "
			"controlled");
	return 0;
}

static int map_section(struct thrum__source_control *c, struct thrum_error_info *info)
{
	const struct thrum__section *s = &c->header.control;
	size_t before = s->offset % thrum__port_page_size();
	void *mapping = mmap(NULL, before + s->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		thrum__source_owner(&c->input)->fd, (off_t)(s->offset - before));

	if (mapping == MAP_FAILED)
		return thrum__read_error_set(info, -THRUM_E_SYSTEM, 0, "can't be mapped");
	c->mapping = mapping;
	c->mapped = before + s->size;
	thrum__format_controls_init(&c->controls, (uint8_t *)mapping + before, s->size);
	c->controls.ticks = read_ticks;
	c->controls.owner = c;
	if (!atomic_load(&c->controls.page->is_shared))
		return thrum__read_error_set(info, -THRUM_E_NOT_RECORDING, 0,
			"the program doesn't share its mask: it can't be controlled");
	return 0;
}

int thrum__source_control_open(const char *file, struct thrum__source_control **control,
	struct thrum_error_info *info)
{
	struct thrum__source_control *c = calloc(1, sizeof *c);

	if (!c)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	int error = open_file(file, c, info);

	if (error) {
		free(c);
		return error;
	}
	error = thrum__source_header(&c->input, &c->header, info);
	if (!error)
		error = check_recording(c, info);
	if (!error)
		error = map_section(c, info);
	if (error) {
		thrum__source_control_close(c);
		return error;
	}
	*control = c;
	return 0;
}

void thrum__source_control_close(struct thrum__source_control *c)
{
	if (!c)
		return;
	if (c->mapping)
		munmap(c->mapping, c->mapped);
	thrum__source_close(c->input.owner);
	free(c);
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* A change of the mask. */
struct order {
	uint64_t clear, set;
};

static unsigned part_of(const char *name)
{
	for (unsigned i = 1; i < 4; i++)
		if (strcmp(thrum__read_task_parts[i], name) == 0)
			return i;
	return 0;
}

/* Sets the level for a category that the program doesn't have yet. */
static int wish(struct thrum__controls *c, const char *name, int level)
{
	struct thrum__named_cell *cells = c->page->wishes;
	unsigned i = thrum__format_cell_find(cells, name, strlen(name));

	if (i < THRUM__CATEGORIES) {
		atomic_store(&cells[i].state, THRUM__CELL_NAMED | (uint32_t)(level + 1) << 8);
		return 0;
	}
	for (i = 0; i < THRUM__CATEGORIES; i++)
		if (atomic_load(&cells[i].state) == THRUM__CELL_FREE) {
			thrum__format_cell_name(&cells[i], name, level);
			return 0;
		}
	return -THRUM_E_SPACE;
}

static void order_level(const struct thrum__source_control *c, struct order *order,
	unsigned category, int level)
{
	bool has_ids = atomic_load(c->controls.mask) & 1;

	if (category == THRUM__CATEGORY_TASK && level < 0 && has_ids)
		level = 0;
	order->clear |= thrum__format_level_bits(category, 3);
	order->set &= ~thrum__format_level_bits(category, 3);
	order->set |= thrum__format_level_bits(category, level);
}

/* Adds one item of the list to the order. */
static int order_item(struct thrum__source_control *c, struct order *order, const char *name,
	int level)
{
	const struct thrum__controls *controls = &c->controls;
	unsigned number = thrum__format_cell_find(controls->page->categories, name, strlen(name));
	unsigned part = part_of(name);

	if (number < THRUM__CATEGORIES) {
		order_level(c, order, number, level);
	} else if (part) {
		order->clear |= UINT64_C(1) << part;
		order->set &= ~(UINT64_C(1) << part);
		if (level >= 0)
			order->set |= UINT64_C(1) << part;
	} else {
		int error = wish(&c->controls, name, level);

		/* The program may have made it just now. */
		number = thrum__format_cell_find(controls->page->categories, name, strlen(name));
		if (number < THRUM__CATEGORIES)
			order_level(c, order, number, level);
		if (error)
			return error;
	}
	/* No part of a task without its id; and tags ask for this level until they know their
	 * category. */
	if (level >= 0)
		order->set |= thrum__format_level_bits(THRUM__CATEGORY_TASK, 0);
	return 0;
}

static int check_list(const char *list, struct thrum_error_info *info)
{
	const char *rest = list;
	char name[THRUM__CATEGORY_NAME];
	int level = 3, result;

	while ((result = thrum__format_level_next(&rest, name, &level)) > 0)
		;
	if (result < 0)
		return thrum__read_error_set(info, result, 0,
			"%s: not NAME or NAME=LEVEL with a level off, always, info, debug, all or "
			"0 to 3",
			name[0] ? name : list);
	return 0;
}

/* ---- Changes -------------------------------------------------------------------------------- */

static void begin_order(struct thrum__source_control *c, struct order *order,
	enum thrum__source_verb verb)
{
	struct thrum__named_cell *wishes = c->controls.page->wishes;
	bool has_ids = atomic_load(c->controls.mask) & 1;

	if (verb != THRUM__CONTROL_ONLY && verb != THRUM__CONTROL_RESET)
		return;
	for (unsigned i = 0; i < THRUM__CATEGORIES; i++)
		atomic_store(&wishes[i].state, THRUM__CELL_FREE);
	order->clear = UINT64_MAX;
	order->set = verb == THRUM__CONTROL_RESET ? UINT64_MAX : has_ids;
}

int thrum__source_control_set(struct thrum__source_control *c, enum thrum__source_verb verb,
	const char *list, struct thrum_error_info *info)
{
	struct order order = {0};
	char name[THRUM__CATEGORY_NAME];
	int error = check_list(list, info), fd = thrum__source_owner(&c->input)->fd;
	int usual = verb == THRUM__CONTROL_DISABLE ? -1 : 3, level = usual;

	if (error)
		return error;
	if (state_of(c) != THRUM__RECORDING)
		return thrum__read_error_set(info, -THRUM_E_NOT_RECORDING, 0,
			"the recording has ended");
	/* Only one program at a time changes the mask from outside. */
	flock(fd, LOCK_EX);
	thrum__format_controls_repair(&c->controls);
	begin_order(c, &order, verb);
	for (; !error && thrum__format_level_next(&list, name, &level) > 0; level = usual)
		error = order_item(c, &order, name, level);
	if (!error)
		thrum__format_controls_change(&c->controls, order.clear, order.set);
	flock(fd, LOCK_UN);
	if (error)
		return thrum__read_error_set(info, error, 0,
			"too many categories that the program doesn't have");
	return 0;
}

int64_t thrum__source_control_silence(struct thrum__source_control *c)
{
	int fd = thrum__source_owner(&c->input)->fd;
	/* The compact header has no more bits of time. */
	double gap = (double)(UINT64_C(1) << THRUM__TIME_BITS) / (double)c->header.clock_frequency;

	flock(fd, LOCK_EX);
	thrum__format_controls_repair(&c->controls);
	thrum__format_controls_change(&c->controls, UINT64_MAX, 0);
	flock(fd, LOCK_UN);
	return gap < 2.7 ? (int64_t)(gap * 1.1e9) : 3000000000;
}

/* ---- The present state ---------------------------------------------------------------------- */

size_t thrum__source_control_list(const struct thrum__source_control *c,
	struct thrum__source_category *to)
{
	const struct thrum__control_page *page = c->controls.page;
	uint64_t mask = atomic_load(c->controls.mask);
	size_t count = 0;
	int level;

	memset(to, 0, THRUM__SOURCE_CATEGORIES_MAX * sizeof *to);
	for (unsigned i = 0; i < THRUM__CATEGORIES; i++) {
		if (!thrum__format_cell_read(&page->categories[i], to[count].name, &level))
			continue;
		to[count++].level = thrum__format_level_of(mask, i);
		for (unsigned part = 1; i == THRUM__CATEGORY_TASK && part < 4; part++) {
			const char *name = thrum__read_task_parts[part];

			memcpy(to[count].name, name, strlen(name) + 1);
			to[count].is_part = true;
			to[count++].level = mask >> part & 1 ? 3 : -1;
		}
	}
	for (unsigned i = 0; i < THRUM__CATEGORIES; i++) {
		struct thrum__source_category *category = &to[count];

		if (!thrum__format_cell_read(&page->wishes[i], category->name, &level) ||
			thrum__format_cell_find(page->categories, category->name,
				strlen(category->name)) < THRUM__CATEGORIES)
			continue;
		category->level = level;
		category->is_unknown = true;
		count++;
	}
	return count;
}
