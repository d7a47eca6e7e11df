/* SPDX-License-Identifier: ISC */
/* How `thrum why` writes findings. */
#ifndef WHY_H
#define WHY_H

#include "analyse/why/finding.h"
#include "output.h"

enum why_format {
	WHY_TEXT,
	WHY_JSON
};

/* A line that says what it is, and one for each step; an empty one before, if `is_next`. */
void why_write_text(struct output *, const struct thrum__model *, const struct thrum__finding *,
	bool is_next, bool color);

/* An object on a line of its own. */
void why_write_json(struct output *, const struct thrum__model *, const struct thrum__finding *);

/* That nothing was found; of a task, or NONE, what it waits for. */
void why_write_nothing(struct output *, const struct thrum__model *, uint32_t task);

#endif
