/* SPDX-License-Identifier: ISC */
/*
 * Draws a flame graph, upside down: a box lies below the box of the tasks that wait for its own.
 * And draws the path of a slow task above that of a usual one, on one scale of time.
 */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include "analyse/slow/answer.h"
#include "analyse/slow/flame.h"
#include "draw/list.h"

/* Draws a flame graph at a width in CSS pixels into the list, which is cleared first and sets its
 * own height. Boxes that are too narrow to be seen are left out. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__report_flame_frame(const struct thrum__paths *,
	const struct thrum__flame *, float width, const struct thrum__draw_metrics *,
	struct thrum__draw_list *);

/* Draws the two paths of an answer and, below them, the flame graph of its label, unless that is
 * NULL or empty. As above. */
THRUM__MUST_USE int thrum__report_slow_frame(const struct thrum__slow_answer *,
	const struct thrum__flame *, float width, const struct thrum__draw_metrics *,
	struct thrum__draw_list *);

/* The place in such a picture to which a pointer points. */
struct thrum__report_spot {
	uint32_t task;   /* of the part or box there; NONE: nothing is there */
	char words[400]; /* its name and time, as valid UTF-8: "disk 5.9 µs, 92 %" */
};

/* Finds what is at x, y of a picture that thrum__report_slow_frame made with this width and
 * these metrics. */
void thrum__report_slow_spot(const struct thrum__slow_answer *, const struct thrum__flame *,
	float width, const struct thrum__draw_metrics *, float x, float y,
	struct thrum__report_spot *);

#endif
