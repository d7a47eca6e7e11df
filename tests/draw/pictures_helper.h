/* SPDX-License-Identifier: ISC */
/* Shared by the tests of canvases: a list with one item of each kind, and bytes in memory. */
#ifndef DRAW_PICTURES_HELPER_H
#define DRAW_PICTURES_HELPER_H

#include "draw/canvas.h"

struct bytes {
	char *bytes; /* ends in a NUL that isn't counted */
	size_t size;
	int fail_after; /* calls until the sink fails; negative: never */
};

/* A thrum__draw_sink for a struct bytes. */
int bytes_add(void *bytes, const void *from, size_t size);

/* Makes a list of one item of each kind, with a text that may try to do harm. */
void make_list(struct thrum__draw_list *, const char *text, size_t size);

#endif
