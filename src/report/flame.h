/* SPDX-License-Identifier: ISC */
/* Draws a flame graph, upside down: a box lies below the box of the tasks that wait for its own. */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include "analyse/slow/flame.h"
#include "draw/list.h"

/* Draws it at a width in CSS pixels into the list, which is cleared first and sets its own height.
 * Boxes that are too narrow to be seen are left out. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__report_flame_frame(const struct thrum__paths *,
	const struct thrum__flame *, float width, const struct thrum__draw_metrics *,
	struct thrum__draw_list *);

#endif
