/* SPDX-License-Identifier: ISC */
/*
 * Projections: time to x and tracks to y, and back. All are monotone; both folds and the fish-eye are
 * nothing but other values in the same tables.
 */
#ifndef SCENE_AXIS_H
#define SCENE_AXIS_H

#include "timeline/index/index.h"

/* ---- Time ---------------------------------------------------------------------------------- */

/* A stretch with the axis' one scale; what lies between two of them is folded. */
struct thrum__scene_time_segment {
	int64_t start, end;
	double x, x_end;
};

#define THRUM__FOLDS_MAX 256

struct thrum__scene_time_axis {
	struct thrum__scene_time_segment *segments;
	uint32_t count;
	double scale; /* pixels a ns, the same in every segment */
	double band;  /* pixels of a whole band */
	int64_t gap;  /* idle time from so many ns on is folded */
	double x0, x1;
	int64_t from, to; /* the window: lies on x0 … x1 */
};

/* Another trace that is shown above or below with the same scale: what isn't idle in it isn't
 * folded either. Its times are `offset` ns more than ours. */
struct thrum__scene_companion {
	const struct thrum__index *index;
	int64_t offset;
};

#define THRUM__COMPANIONS_MAX 15

struct thrum__scene_companions {
	struct thrum__scene_companion all[THRUM__COMPANIONS_MAX];
	uint32_t count;
};

/* thrum__index_idle for what is idle in all of them; NULL: no companions. */
void thrum__scene_companions_idle(const struct thrum__index *,
	const struct thrum__scene_companions *, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context);

/* Moves *from back to where the idle time began that it lies in, at the earliest to `begin`; *to on
 * to where its idle time ends, at the latest to `end`. */
void thrum__scene_companions_widen(const struct thrum__index *,
	const struct thrum__scene_companions *, int64_t begin, int64_t end, int64_t *from,
	int64_t *to);

struct thrum__scene_fold_rule {
	bool fold;          /* else linear */
	float min_gap;      /* idle time that would take that many pixels is folded: 80 */
	float width;        /* of a band: 64 to 80, on a phone 22, far out 9 */
	int64_t begin, end; /* of all that is: bands end there, unless the window is wider */
	const struct thrum__scene_companions *companions; /* or NULL */
};

void thrum__scene_time_axis_init(struct thrum__scene_time_axis *);
void thrum__scene_time_axis_finish(struct thrum__scene_time_axis *);

/*
 * From … to (to > from) on x0 … x1. Bands get narrower (at last 2 px) before they take more than a
 * quarter of the width; where there are too many nevertheless, the shorter stretches aren't folded.
 * When the window begins or ends in a folded stretch, it shows that part of the band: segments lie
 * where they would if more were seen, the first and the last then outside of x0 … x1.
 * Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_time_axis_set(struct thrum__scene_time_axis *,
	const struct thrum__index *, int64_t from, int64_t to, double x0, double x1,
	const struct thrum__scene_fold_rule *);

/* Times outside are projected by the scale of the nearest segment, clamped to ±1e6 px. */
double thrum__scene_time_axis_x(const struct thrum__scene_time_axis *, int64_t time);
int64_t thrum__scene_time_axis_time(const struct thrum__scene_time_axis *, double x);

/* ---- Tracks ---------------------------------------------------------------------------------- */

enum thrum__scene_track_class {
	THRUM__TRACK_ROOMY,
	THRUM__TRACK_NORMAL,
	THRUM__TRACK_COMPACT,
	THRUM__TRACK_DENSE,
	THRUM__TRACK_SQUEEZED,
};

/* A track as it is seen; or, where tracks are less than a pixel high, several. */
struct thrum__scene_track_box {
	uint32_t track, tracks;
	float y, height; /* its top, in the picture */
	float line;      /* y of the tasks' line */
	float bar;       /* height of running blocks */
	float line_width;
	uint8_t size; /* enum thrum__scene_track_class */
};

enum thrum__scene_track_projection {
	THRUM__TRACKS_EVEN,
	THRUM__TRACKS_SQUEEZED, /* those where nothing happens in the window are 3–6 px (none, where
				 that holds for all), those that hold nothing in it aren't seen */
	THRUM__TRACKS_FISHEYE, /* hyperbolic: all tracks on the screen, the focus large */
};

struct thrum__scene_track_axis {
	struct thrum__scene_track_box *boxes; /* those that are seen, from the top */
	uint32_t count, room;
	uint32_t total; /* tracks there are */
	float top, bottom;
	uint8_t projection;
	double first;                    /* even, squeezed: the track (with fraction) at the top */
	double height;                   /* even: of a track; squeezed: of a loud one */
	double focus, focus_y, strength; /* fish-eye; focus_y in pixels of the picture */
};

void thrum__scene_track_axis_init(struct thrum__scene_track_axis *);
void thrum__scene_track_axis_finish(struct thrum__scene_track_axis *);

/*
 * `first` is the track at the top. `height` is an even track's height, or of a loud one's among
 * squeezed; 0: what makes all fit, between 2 and 46 px (squeezed: loud ones 20 to 46). Time is that
 * of the window, for telling loud tracks. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_track_axis_set(struct thrum__scene_track_axis *,
	const struct thrum__index *, uint32_t total, int projection, float top, float bottom,
	double first, double height, int64_t from, int64_t to);

/*
 * The fish-eye: the track (with fraction) at focus_y is `focus`; strength is the height in pixels of
 * the track in focus. At d tracks from the focus, a track is strength / (1 + c d)² high, with c of either
 * side such that the last track ends at the edge: hyperbolas. Where a side has less tracks than room,
 * the focus moves towards the edge, the top before the bottom.
 */
THRUM__MUST_USE int thrum__scene_track_axis_fisheye(struct thrum__scene_track_axis *,
	uint32_t total, float top, float bottom, double focus, double focus_y, double strength);

/* The box of a track; NULL when it isn't seen. O(log n). */
const struct thrum__scene_track_box *
thrum__scene_track_axis_find(const struct thrum__scene_track_axis *, uint32_t track);

/* y of a track's line: also of tracks beyond the edges (a little outside: top - 8, bottom + 8). */
float thrum__scene_track_axis_line(const struct thrum__scene_track_axis *, uint32_t track);

/* The track with fraction at y, clamped to 0 … total. */
double thrum__scene_track_axis_track(const struct thrum__scene_track_axis *, float y);

/* Where the fish-eye's focus must be so that `track` comes to lie at y, as near as can be: the first
 * track never leaves the top, the last never the bottom. */
double thrum__scene_fisheye_focus(uint32_t total, float top, float bottom, double focus_y,
	double strength, double track, float y);

#endif
