/* SPDX-License-Identifier: ISC */
/* A flame graph as a picture: upside down, what is waited for below what waits. */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include "analyse/slow/flame.h"
#include "draw/list.h"

/* Paints it at a width in CSS pixels; the list's height is what it takes. Boxes too narrow to be
 * seen are left out. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__report_flame_frame(const struct thrum__paths *,
	const struct thrum__flame *, float width, const struct thrum__draw_metrics *,
	struct thrum__draw_list *);

#endif
