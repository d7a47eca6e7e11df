/* SPDX-License-Identifier: ISC */
/*
 * What tasks are called, by id, ready to be printed. Holds the tasks that are not resolved yet and,
 * for a while, those that are; so its size follows what the program had open at a time, not the
 * length of the trace.
 */
#ifndef LABELS_H
#define LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_COLUMNS 24

struct label {
	uint64_t id;
	uint8_t state; /* enum label_state; 0: a free cell */
	uint8_t size;
	uint8_t columns; /* as wide as it is on a terminal */
	char text[53];   /* for a terminal, no ending NUL */
};
_Static_assert(sizeof(struct label) == 64, "a cache line");

struct labels {
	struct label *cells;
	size_t room;  /* a power of two */
	size_t added; /* since it was rebuilt */
	bool full;    /* no memory: new tasks stay without a label */
};

void labels_finish(struct labels *);

/* What it is called from now on. `is_kind`: a mere kind, shown in brackets. */
void labels_set(struct labels *, uint64_t id, const char *text, size_t size, bool is_kind);

/* It won't be spoken of much longer. */
void labels_resolved(struct labels *, uint64_t id);

/* NULL: nothing is known. Valid until the next call that changes something. */
const struct label *labels_find(const struct labels *, uint64_t id);

#endif
