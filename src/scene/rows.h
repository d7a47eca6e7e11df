/* SPDX-License-Identifier: ISC */
/* How the rows of a new scene are made: at once, or when they are first shown (thrum__scene_make_rows).
 * Private to this room. */
#ifndef SCENE_ROWS_H
#define SCENE_ROWS_H

#include "scene/scene.h"

/* `tell` may be NULL; else it gets the part that is done, 0 … 1, and may return false to stop. */
struct thrum__scene_progress {
	bool (*tell)(void *context, double part);
	void *context;
};

/* Makes the rows, unless they can wait. Makes the index in any case. Returns 0; 1 when it was stopped;
 * or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_begin_rows(struct thrum__scene *,
	const struct thrum__scene_progress *, bool at_once);

#endif
