/* SPDX-License-Identifier: ISC */
/*
 * Projections: time to x and tracks to y, and back. All of them are monotone. Folded time, folded
 * tracks and the fish-eye are only other values in the same tables, so that painters need not know
 * which is on.
 *
 * Fold: a long idle time takes a band of a fixed width instead of its length. Squeeze: tracks in
 * which nothing happens are made low. The caller owns the memory of an axis: call init, then set as
 * often as needed, then finish.
 */
#ifndef SCENE_AXIS_H
#define SCENE_AXIS_H

#include "timeline/index/index.h"

/* ---- Time ---------------------------------------------------------------------------------- */

/* A piece of time that is shown at the axis' scale. The time between two segments is folded. */
struct thrum__scene_time_segment {
	int64_t start, end;
	double x, x_end;
};

#define THRUM__FOLDS_MAX 256

struct thrum__scene_time_axis {
	struct thrum__scene_time_segment *segments; /* in the order of time */
	uint32_t count;
	double scale; /* px per ns, the same in every segment */
	double band;  /* px that a whole fold takes */
	int64_t gap;  /* ns: idle time folds if it is at least this long */
	double x0, x1;
	int64_t from, to; /* the window, which lies on x0 … x1 */
};

/* Another trace that is shown above or below on the same scale. Time folds only if it is idle in
 * all of them. The companion's time is ours plus `offset` ns. */
struct thrum__scene_companion {
	const struct thrum__index *index;
	int64_t offset;
};

#define THRUM__COMPANIONS_MAX 15

struct thrum__scene_companions {
	struct thrum__scene_companion all[THRUM__COMPANIONS_MAX];
	uint32_t count;
};

/* As thrum__index_idle, for time that is idle in this trace and in all companions (NULL: none). */
void thrum__scene_companions_idle(const struct thrum__index *,
	const struct thrum__scene_companions *, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context);

/* If *from lies in idle time, moves it back to where that begins, but not before `begin`. If *to
 * lies in idle time, moves it on to where that ends, but not behind `end`. */
void thrum__scene_companions_widen(const struct thrum__index *,
	const struct thrum__scene_companions *, int64_t begin, int64_t end, int64_t *from,
	int64_t *to);

struct thrum__scene_fold_rule {
	bool fold;          /* false: the axis is linear */
	float min_gap;      /* px: idle time folds if it would take at least so much: 80 */
	float width;        /* px of a band: 72, or 22 in narrow pictures */
	int64_t begin, end; /* the whole time: folds end there, unless the window is wider */
	const struct thrum__scene_companions *companions; /* or NULL */
};

void thrum__scene_time_axis_init(struct thrum__scene_time_axis *);
void thrum__scene_time_axis_finish(struct thrum__scene_time_axis *);

/*
 * Lays from … to (to > from) on x0 … x1. Bands become narrower, down to 2 px, so that they take at
 * most a quarter of the width; if there are still too many, the shorter idle times are not folded.
 * If the window begins or ends inside a fold, it shows that part of the band; the first or last
 * segment then lies outside of x0 … x1. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_time_axis_set(struct thrum__scene_time_axis *,
	const struct thrum__index *, int64_t from, int64_t to, double x0, double x1,
	const struct thrum__scene_fold_rule *);

/* Time to x and back. Times outside of the window use the scale of the nearest segment; their x is
 * clamped to ±1e6 px. O(log n). */
double thrum__scene_time_axis_x(const struct thrum__scene_time_axis *, int64_t time);
int64_t thrum__scene_time_axis_time(const struct thrum__scene_time_axis *, double x);

/* ---- Tracks -------------------------------------------------------------------------------- */

/* How a track is drawn, which depends on its height: ROOMY from 34 px on, NORMAL from 22, COMPACT
 * from 10, DENSE below. SQUEEZED: a quiet track among squeezed ones. */
enum thrum__scene_track_class {
	THRUM__TRACK_ROOMY,
	THRUM__TRACK_NORMAL,
	THRUM__TRACK_COMPACT,
	THRUM__TRACK_DENSE,
	THRUM__TRACK_SQUEEZED,
};

/* A track in sight; or, if tracks are less than a pixel high, several neighbouring ones. */
struct thrum__scene_track_box {
	uint32_t track, tracks; /* the first track; how many */
	float y, height;        /* its top in the picture */
	float line;             /* y of the units' lines */
	float bar;              /* height of the blocks of runs */
	float line_width;
	uint8_t size; /* enum thrum__scene_track_class */
};

/*
 * Even: all tracks have one height. Squeezed: quiet tracks, in which nothing happens in the window,
 * are 3 to 6 px high; tracks without a unit in the window are left out. If all tracks are quiet and
 * there is room, none is low. If some tracks are wanted, all others count as quiet, and are left out
 * if there is no room for them. Fish-eye: hyperbolic; all tracks are in sight, the track in focus is
 * the largest.
 */
enum thrum__scene_track_projection {
	THRUM__TRACKS_EVEN,
	THRUM__TRACKS_SQUEEZED,
	THRUM__TRACKS_FISHEYE,
};

struct thrum__scene_track_axis {
	struct thrum__scene_track_box *boxes; /* the tracks in sight, from the top */
	uint32_t count, room;
	uint32_t total; /* tracks of the layout */
	float top, bottom;
	uint8_t projection;
	double first;                    /* even, squeezed: the track (with fraction) at the top */
	double height;                   /* even: of a track; squeezed: of a loud one */
	double focus, focus_y, strength; /* fish-eye; focus_y in pixels of the picture */
};

void thrum__scene_track_axis_init(struct thrum__scene_track_axis *);
void thrum__scene_track_axis_finish(struct thrum__scene_track_axis *);

/*
 * Places tracks between top and bottom, even or squeezed. `first` is the track at the top. `height`
 * is the height of an even track or of a loud one; 0: such that all fit, between 2 and 46 px (loud
 * ones: 20 to 46 px). from … to is the window: it decides which tracks are loud, unless `wanted`
 * tells it for each track; it may be NULL. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_track_axis_set(struct thrum__scene_track_axis *,
	const struct thrum__index *, uint32_t total, int projection, float top, float bottom,
	double first, double height, int64_t from, int64_t to, const bool *wanted);

/*
 * Places tracks as through a fish-eye. `focus` is the track (with fraction) that lies at focus_y;
 * `strength` is its height in pixels. A track at a distance of d tracks is strength / (1 + c d)²
 * high; c is chosen for either side so that its last track ends at the edge (a hyperbola). If a
 * side has fewer tracks than it has room for, the focus moves towards that edge; the top has
 * precedence. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_track_axis_fisheye(struct thrum__scene_track_axis *,
	uint32_t total, float top, float bottom, double focus, double focus_y, double strength);

/* Returns the box of a track, or NULL if it is out of sight. O(log n). */
const struct thrum__scene_track_box *
thrum__scene_track_axis_find(const struct thrum__scene_track_axis *, uint32_t track);

/* Returns y of a track's line. Tracks beyond the edges have one, too: top - 8 or bottom + 8. */
float thrum__scene_track_axis_line(const struct thrum__scene_track_axis *, uint32_t track);

/* Returns the track (with fraction) at y, clamped to 0 … total. */
double thrum__scene_track_axis_track(const struct thrum__scene_track_axis *, float y);

/* Returns the focus with which the fish-eye shows `track` at y, or as near to it as possible: the
 * first track never leaves the top, nor the last the bottom. */
double thrum__scene_fisheye_focus(uint32_t total, float top, float bottom, double focus_y,
	double strength, double track, float y);

#endif
