/* SPDX-License-Identifier: ISC */
/*
 * Makes events of the changes of the mask: which categories were recorded, and when.
 *
 * A bit counts as off from the time before it was cleared until the time after it was set. Changes
 * by several programs may overlap: then each clearing counts, and a bit is on when as many settings
 * have followed. If the history has lost its beginning, all bits that were ever off count as off
 * until its first entry.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/packet.h"
#include "read/thrum/reader.h"

#define CONTROL_MOST (UINT64_C(16) << 20)

static bool load(const struct reader *r, uint64_t offset, void *to, size_t size)
{
	bool is_whole = thrum__format_input_read(&r->trace.input, r->header.control.offset + offset,
				to, size) == (int64_t)size;

	/* Partner: the release stores of tickets and names. */
	atomic_thread_fence(memory_order_acquire);
	return is_whole;
}

/* ---- The queue ------------------------------------------------------------------------------ */

/* Adds a toggle to the end of the queue. */
static int queue_toggle(struct reader *r, uint64_t ticks, uint64_t bits, bool is_on)
{
	struct changes *c = &r->changes;

	if (!bits)
		return 0;
	struct toggle *queue = thrum__base_grow(c->queue, &c->queue_room, c->queued + 1,
		sizeof *queue);

	if (!queue)
		return -THRUM_E_MEMORY;
	c->queue = queue;
	size_t at = c->queued++;

	c->is_unsorted |= at > c->next && queue[at - 1].ticks > ticks;
	queue[at] = (struct toggle){ticks, bits, (uint32_t)at, is_on};
	return 0;
}

static int compare_toggles(const void *left, const void *right)
{
	const struct toggle *a = left, *b = right;

	if (a->ticks != b->ticks)
		return a->ticks < b->ticks ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Puts the rest of the queue in the order of time. */
static void sort_toggles(struct changes *c)
{
	if (c->is_unsorted)
		qsort(c->queue + c->next, c->queued - c->next, sizeof *c->queue, compare_toggles);
	for (size_t i = c->next; c->is_unsorted && i < c->queued; i++)
		c->queue[i].number = (uint32_t)i;
	c->is_unsorted = false;
}

/* Loads an entry of the history. `after` becomes 0 if its change isn't finished. False: it was
 * overwritten. */
static bool load_entry(const struct reader *r, uint32_t number, struct thrum__change *entry)
{
	uint64_t at = THRUM__CONTROL_PAGE + (uint64_t)(number % r->changes.room) * sizeof *entry;
	struct thrum__change again;

	return load(r, at, entry, sizeof *entry) && load(r, at, &again, sizeof again) &&
		entry->ticket == number + 1 && again.ticket == number + 1;
}

static int queue_entry(struct reader *r, const struct thrum__change *entry)
{
	int error = queue_toggle(r, entry->before, entry->cleared, false);

	/* If the change isn't finished, its bits stay off. */
	if (!error && entry->after)
		error = queue_toggle(r, entry->after, entry->set, true);
	r->changes.last = entry->before;
	return error;
}

/* The history has lost its entries before number `first`: no bit that was ever off is known to be on
 * before the time of that one. */
static int queue_lost_entries(struct reader *r, uint32_t first, uint32_t end)
{
	struct changes *c = &r->changes;
	uint64_t cleared = 0, mask = 0, on = 0, seen = 0, start = UINT64_MAX;
	struct thrum__change entry;

	if (!load(r, offsetof(struct thrum__control_page, cleared), &cleared, sizeof cleared) ||
		!load(r, offsetof(struct thrum__control_page, mask), &mask, sizeof mask))
		return 0;
	for (uint32_t number = first; number != end; number++) {
		if (!load_entry(r, number, &entry))
			continue;
		start = entry.before < start ? entry.before : start;
		on |= entry.cleared & ~seen; /* it was on until then */
		seen |= entry.cleared | entry.set;
	}
	memset(c->off, 0, sizeof c->off);
	c->next = c->queued = 0;
	int error = queue_toggle(r, c->last, cleared, false);

	return error ? error : queue_toggle(r, start, cleared & (on | (mask & ~seen)), true);
}

int thrum__read_changes_update(struct reader *r)
{
	struct changes *c = &r->changes;
	uint32_t end = 0;
	int error = 0;

	r->others = 0;
	/* No recorder makes a larger one: this header is damaged. */
	if (r->header.control.size == 0 || r->header.control.size > CONTROL_MOST)
		return 0;
	c->room = (uint32_t)((r->header.control.size - THRUM__CONTROL_PAGE) /
		sizeof(struct thrum__change));
	if (!load(r, offsetof(struct thrum__control_page, changes), &end, sizeof end))
		return 0;
	if (end - c->next_entry > c->room) {
		c->next_entry = end - c->room;
		error = queue_lost_entries(r, c->next_entry, end);
	}
	for (; !error && c->next_entry != end; c->next_entry++) {
		struct thrum__change entry;
		bool is_there = load_entry(r, c->next_entry, &entry);
		bool is_done = is_there && (entry.after || !entry.set);

		/* The newest one may still be under way. */
		if (!is_done && c->next_entry + 1 == end && r->header.state == THRUM__RECORDING &&
			!r->is_dead)
			break;
		if (is_there)
			error = queue_entry(r, &entry);
	}
	sort_toggles(c);
	return error;
}

void thrum__read_changes_finish(struct reader *r)
{
	free(r->changes.queue);
}

/* ---- Events --------------------------------------------------------------------------------- */

static const char *name_of(struct reader *r, unsigned category)
{
	static const char *const own[] = {"task", "counter", "log"};
	struct thrum__named_cell cell;
	char *name = r->changes.names[category];
	int level;

	if (category <= THRUM__CATEGORY_LOG)
		return own[category];
	if (!name[0] &&
		load(r, offsetof(struct thrum__control_page, categories) + category * sizeof cell,
			&cell, sizeof cell))
		thrum__format_cell_read(&cell, name, &level);
	return name;
}

static struct thrum_event *put_category(struct reader *r, struct thrum_event *e, uint64_t ticks,
	const char *name, int level)
{
	/* No time is before the trace's first event. */
	if (ticks < r->clock.base)
		ticks = r->clock.base;
	*e = (struct thrum_event){
		.time = clock_ns(&r->clock, ticks),
		.clock = ticks,
		.value = level,
		.text = name,
		.text_size = (uint32_t)strlen(name),
		.type = THRUM_EVENT_CATEGORY,
		.flags = THRUM_EVENT_HAS_TEXT | THRUM_EVENT_HAS_VALUE,
	};
	return e + 1;
}

/* Puts the events for a category's new bits: its level, and the parts of task that are on above
 * it. */
static struct thrum_event *put_changes(struct reader *r, struct thrum_event *e, uint64_t ticks,
	uint64_t mask, unsigned category)
{
	const char *name = name_of(r, category);
	int level = thrum__format_level_of(mask, category);

	if (!name[0])
		return e; /* no category has this number */
	e = put_category(r, e, ticks, name, level);
	for (int part = level + 1; category == THRUM__CATEGORY_TASK && part < 4; part++)
		if (mask >> part & 1)
			e = put_category(r, e, ticks, thrum__read_task_parts[part], part);
	return e;
}

/* Applies the toggle and returns the bits that are off then. */
static uint64_t apply_toggle(struct changes *c, const struct toggle *toggle)
{
	uint64_t off = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		bool is_changed = toggle->bits >> bit & 1;

		if (is_changed && !toggle->is_on && c->off[bit] < UINT8_MAX)
			c->off[bit]++;
		else if (is_changed && toggle->is_on && c->off[bit] > 0)
			c->off[bit]--;
		off |= (uint64_t)(c->off[bit] > 0) << bit;
	}
	return off;
}

size_t thrum__read_changes_give(struct reader *r, uint64_t ticks, const struct thrum_event **events)
{
	struct changes *c = &r->changes;
	struct thrum_event *e = c->events;

	while (e == c->events && c->next < c->queued && c->queue[c->next].ticks <= ticks) {
		uint64_t time = c->queue[c->next].ticks, off = c->told;

		while (c->next < c->queued && c->queue[c->next].ticks == time)
			off = apply_toggle(c, &c->queue[c->next++]);
		for (unsigned i = 0; i < THRUM__CATEGORIES; i++)
			if ((off ^ c->told) >> (i * 4) & 15)
				e = put_changes(r, e, time, ~off, i);
		c->told = off;
	}
	if (c->next == c->queued)
		c->next = c->queued = 0;
	if (e > c->events)
		*events = c->events;
	return (size_t)(e - c->events);
}

uint64_t thrum__read_changes_next(const struct reader *r)
{
	const struct changes *c = &r->changes;

	return c->next < c->queued ? c->queue[c->next].ticks : UINT64_MAX;
}
