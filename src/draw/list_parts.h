/* SPDX-License-Identifier: ISC */
/* Shared by the files that add items to a display list. Private to src/draw. */
#ifndef DRAW_LIST_PARTS_H
#define DRAW_LIST_PARTS_H

#include "draw/list.h"

/* Adds `count` items of a style, and returns them for the caller to fill in; NULL: no memory. */
void *thrum__draw_list_add(struct thrum__draw_list *, const struct thrum__draw_style *,
	size_t count);

/* Makes room for so many more bytes of text; false: no memory. */
bool thrum__draw_list_reserve_text(struct thrum__draw_list *, uint64_t size);

#endif
