/* SPDX-License-Identifier: ISC */
/* A hash table with linear probing. Each rebuild drops the old entries. */
#include "list/labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "line/text.h"

#define ROOM_MIN 16384

enum label_state {
	LABEL_FREE,
	LABEL_PENDING,
	LABEL_RESOLVED, /* since the last rebuild */
	LABEL_OLD,
};

static size_t hash_place(const struct labels *labels, uint64_t id)
{
	return (size_t)thrum__base_hash_number(0, id) & (labels->room - 1);
}

/* Returns the cell of this id, or the free cell where it belongs. */
static struct label *find_cell(const struct labels *labels, uint64_t id)
{
	size_t i = hash_place(labels, id);

	while (labels->cells[i].state != LABEL_FREE && labels->cells[i].id != id)
		i = (i + 1) & (labels->room - 1);
	return &labels->cells[i];
}

/* Resolved tasks stay for one more round, as their waiters read them later. */
static bool is_old(const struct label *label)
{
	return label->state == LABEL_FREE || label->state == LABEL_OLD;
}

/*
 * Rebuilds the table, which happens each time that a quarter of the room has been filled. At most
 * half of the room is filled afterwards: by tasks that were pending at the rebuild before, and by
 * those added since then, a quarter each. So the table is never more than three quarters full.
 * Returns false if memory is exhausted.
 */
static bool rebuild_labels(struct labels *labels)
{
	struct labels next = {.room = labels->room > 0 ? labels->room : ROOM_MIN};
	size_t pending = 0;

	for (size_t i = 0; i < labels->room; i++)
		pending += labels->cells[i].state == LABEL_PENDING;
	while (next.room < pending * 4)
		next.room *= 2;
	next.cells = calloc(next.room, sizeof(*next.cells));
	if (!next.cells)
		return false;
	for (size_t i = 0; i < labels->room; i++) {
		const struct label *label = &labels->cells[i];
		struct label *to;

		if (is_old(label))
			continue;
		to = find_cell(&next, label->id);
		*to = *label;
		if (to->state == LABEL_RESOLVED)
			to->state = LABEL_OLD;
	}
	free(labels->cells);
	*labels = next;
	return true;
}

void labels_finish(struct labels *labels)
{
	free(labels->cells);
	*labels = (struct labels){0};
}

static struct label *add_label(struct labels *labels, uint64_t id)
{
	struct label *label;

	if (labels->full)
		return NULL;
	if (labels->added * 4 >= labels->room && !rebuild_labels(labels)) {
		labels->full = true;
		return NULL;
	}
	label = find_cell(labels, id);
	if (label->state == LABEL_FREE)
		labels->added++;
	label->id = id;
	label->state = LABEL_PENDING;
	return label;
}

void labels_set(struct labels *labels, uint64_t id, const char *text, size_t size, bool is_kind)
{
	struct label *label = add_label(labels, id);
	size_t room = sizeof(label->text), columns = 0;
	char *to, *end;

	if (!label)
		return;
	to = label->text;
	if (is_kind)
		*to++ = '(';
	end = put_display(to, room - 2, text, size, LABEL_COLUMNS - 2 * is_kind, &columns);
	if (is_kind)
		*end++ = ')';
	label->size = (uint8_t)(end - label->text);
	label->columns = (uint8_t)(columns + 2 * is_kind);
}

void labels_resolved(struct labels *labels, uint64_t id)
{
	struct label *label = labels->room > 0 ? find_cell(labels, id) : NULL;

	if (label && label->state == LABEL_PENDING)
		label->state = LABEL_RESOLVED;
}

const struct label *labels_find(const struct labels *labels, uint64_t id)
{
	const struct label *label = labels->room > 0 ? find_cell(labels, id) : NULL;

	return label && label->state != LABEL_FREE ? label : NULL;
}
