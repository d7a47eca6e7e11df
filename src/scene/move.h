/* SPDX-License-Identifier: ISC */
/*
 * Moving the window over time and tracks. For this room and the stage only. Functions that return
 * int give 0 or -THRUM_E_MEMORY, unless their comment says otherwise.
 */
#ifndef SCENE_MOVE_H
#define SCENE_MOVE_H

#include "scene/scene.h"

#define THRUM__FOLD_GAP 80 /* px: idle time folds if it would take at least so much */

/* Sets the window, changed where necessary: it stays within the whole time plus a tenth of its own
 * length at either end, and is never shorter than 10 ns. */
void thrum__scene_set_window(struct thrum__scene *, int64_t from, int64_t to);

/* The same, with `margin` ns more at either end. Any times are allowed. */
void thrum__scene_set_window_around(struct thrum__scene *, int64_t from, int64_t to,
	int64_t margin);

/* Move the window so that `time` lies at x at a scale (px per ns), or so that `track` (with
 * fraction) lies at y; then project. The result is as near as the ends of the trace and the folds
 * allow. Call thrum__scene_project before. */
THRUM__MUST_USE int thrum__scene_hold_time(struct thrum__scene *, int64_t time, double x,
	double scale);
THRUM__MUST_USE int thrum__scene_hold_track(struct thrum__scene *, double track, float y);

/* Returns the track (with fraction) at y; in bands, the place. */
double thrum__scene_track_at(const struct thrum__scene *, float y);

/* Scrolls so that a track is in sight, if it isn't yet; in bands, the selected task's band. */
THRUM__MUST_USE int thrum__scene_show_track(struct thrum__scene *, uint32_t track);
/* Shows the tracks from `first` to `last`; if they don't fit, the track `most` wanted. */
THRUM__MUST_USE int thrum__scene_show_tracks(struct thrum__scene *, uint32_t first, uint32_t last,
	uint32_t most);

/* The first selects a task and brings its unit into sight without zooming. The second also zooms to
 * the unit's life, folds idle time (in rows) and quiet tracks, and fades unrelated units. The third
 * does all of this for a finding and its victim, until the victim's wait ends. All return as
 * thrum__scene_command does. */
THRUM__MUST_USE int thrum__scene_show_task(struct thrum__scene *, uint32_t task);
THRUM__MUST_USE int thrum__scene_show_life(struct thrum__scene *, uint32_t task);
THRUM__MUST_USE int thrum__scene_show_finding(struct thrum__scene *, uint32_t finding);

/* Selects the task of a run of the model, and zooms to the run. Returns as the three above. */
THRUM__MUST_USE int thrum__scene_show_run(struct thrum__scene *, uint32_t run);

/* Goes from the selected task along an arrow; `command` is CREATOR, AWAITED or WAKER. If no arrow
 * leads further, or after the user came back, goes to the next of several targets. Returns as
 * thrum__scene_command does. */
THRUM__MUST_USE int thrum__scene_follow_arrow(struct thrum__scene *, int command);

/* Counts the found units up to and including `unit`, in the order of next-match. O(units). */
uint32_t thrum__scene_found_before(const struct thrum__scene *, uint32_t unit);

/* Keeps the state for BACK; forgets the oldest of THRUM__HISTORY. */
void thrum__scene_remember(struct thrum__scene *);

#endif
