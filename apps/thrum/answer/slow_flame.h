/* SPDX-License-Identifier: ISC */
/* Writes flame graphs to files. */
#ifndef ANSWER_SLOW_FLAME_H
#define ANSWER_SLOW_FLAME_H

#include "analyse/slow/slow.h"

/* Writes the paths of all lives as a picture, and as folded stacks for other tools: lines of
 * "a;b;c NS". Either file may be NULL: none; "-" is standard output. Returns STATUS_OK, or another
 * status after a message. */
int slow_flame(struct thrum__paths *, const struct thrum__lives *, const char *picture,
	const char *folded);

#endif
