/* SPDX-License-Identifier: ISC */
/* Private to this room: moving the window. */
#ifndef SCENE_MOVE_H
#define SCENE_MOVE_H

#include "scene/scene.h"

#define THRUM__FOLD_GAP 80 /* pixels that an idle stretch would take to be folded */

/* Sets the window; keeps it within the trace (and a tenth of itself beyond) and not too narrow. */
void thrum__scene_set_window(struct thrum__scene *, int64_t from, int64_t to);

/* The same of any times, with a margin at either side. */
void thrum__scene_set_window_around(struct thrum__scene *, int64_t from, int64_t to,
	int64_t margin);

/* After thrum__scene_project: moves the window so that a time lies at x at a scale (px a ns), a track
 * (with fraction) at y, as near as the ends and the folds allow, and projects it. */
THRUM__MUST_USE int thrum__scene_hold_time(struct thrum__scene *, int64_t time, double x,
	double scale);
THRUM__MUST_USE int thrum__scene_hold_track(struct thrum__scene *, double track, float y);

/* Scrolls so that a track is seen, when it isn't. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_show_track(struct thrum__scene *, uint32_t track);

/* Selects a task and brings its unit into sight, in the middle, at the scale that is; a finding's.
 * Return as thrum__scene_command. */
THRUM__MUST_USE int thrum__scene_show_task(struct thrum__scene *, uint32_t task);
THRUM__MUST_USE int thrum__scene_show_finding(struct thrum__scene *, uint32_t finding);

/* From the selected task along an arrow: CREATOR, AWAITED, WAKER. Where there is no further one,
 * and when one has come back, to the next of several. Returns as thrum__scene_command. */
THRUM__MUST_USE int thrum__scene_follow_arrow(struct thrum__scene *, int command);

/* How many of the units that the search found come before one, and itself, as next-match goes. */
uint32_t thrum__scene_found_before(const struct thrum__scene *, uint32_t unit);

/* Remembers the state for BACK. */
void thrum__scene_remember(struct thrum__scene *);

#endif
