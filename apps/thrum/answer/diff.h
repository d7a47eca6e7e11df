/* SPDX-License-Identifier: ISC */
/* Shared by the files of `thrum diff`. */
#ifndef ANSWER_DIFF_H
#define ANSWER_DIFF_H

#include "analyse/diff/diff.h"
#include "trace/load.h"

struct diff {
	struct load load[THRUM__SIDES]; /* the good trace and the bad one */
	struct thrum__comparison comparison;
};

/* Draws both traces into `file`, one above the other, aligned at their starts, and marks the first
 * difference. Returns STATUS_OK, or another status after a message. */
int diff_render(const struct diff *, const char *file);

#endif
