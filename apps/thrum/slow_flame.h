/* SPDX-License-Identifier: ISC */
/* Flame graphs to files. */
#ifndef SLOW_FLAME_H
#define SLOW_FLAME_H

#include "analyse/slow/slow.h"

/* The paths of all lives as a picture (NULL: none) and as folded stacks, "a;b;c NS" a line, which
 * other tools take (NULL: none); "-" is standard output. Returns STATUS_OK, or another after a
 * message. */
int slow_flame(struct thrum__paths *, const struct thrum__lives *, const char *picture,
	const char *folded);

#endif
