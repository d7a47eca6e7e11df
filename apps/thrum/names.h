/* SPDX-License-Identifier: ISC */
/* A set of names, which counts the different ones. */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>

struct names {
	struct name *cells;
	size_t room; /* a power of two, or 0 */
	size_t count;
};

/* Adds a copy, unless the name is there or memory is exhausted. */
void names_add(struct names *, const char *name, size_t size);
void names_finish(struct names *);

#endif
