/* SPDX-License-Identifier: ISC */
/* What the tests of canvases share: a list with one of each item, and bytes in memory. */
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

/* One item of each kind, and a text that is to do no harm. */
void make_list(struct thrum__draw_list *, const char *text, size_t size);

#endif
