/* SPDX-License-Identifier: ISC */
/* What the files of `thrum diff` share. */
#ifndef DIFF_H
#define DIFF_H

#include "analyse/diff/diff.h"
#include "load.h"

struct diff {
	struct load load[THRUM__SIDES];
	struct thrum__comparison comparison;
};

/* Draws both, one above the other from their beginnings, with the first difference marked. Returns
 * STATUS_OK, or another after a message. */
int diff_render(const struct diff *, const char *file);

#endif
