/* SPDX-License-Identifier: ISC */
/*
 * Names of tasks by id, ready to be printed. Holds the unresolved tasks and, for a while, the
 * resolved ones, so that its size follows the number of unresolved tasks, not the trace's length.
 */
#ifndef LIST_LABELS_H
#define LIST_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_COLUMNS 24

struct label {
	uint64_t id;
	uint8_t state; /* enum label_state; 0: a free cell */
	uint8_t size;
	uint8_t columns; /* its width on a terminal */
	char text[53];   /* escaped for a terminal; no ending NUL */
};
_Static_assert(sizeof(struct label) == 64, "a cache line");

struct labels {
	struct label *cells;
	size_t room;  /* a power of two */
	size_t added; /* since the table was rebuilt */
	bool full;    /* memory is exhausted: new tasks get no label */
};

void labels_finish(struct labels *);

/* Sets a task's name from now on. is_kind: the name is only its kind and stands in brackets. */
void labels_set(struct labels *, uint64_t id, const char *text, size_t size, bool is_kind);

/* Marks a task as resolved: its name is dropped after a while. */
void labels_resolved(struct labels *, uint64_t id);

/* Returns a task's name, or NULL if it is unknown. Valid until the next labels_set. */
const struct label *labels_find(const struct labels *, uint64_t id);

#endif
