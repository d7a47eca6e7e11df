/* SPDX-License-Identifier: ISC */
/*
 * paint/: the painters. Each adds one kind of thing to a frame's display list: grid, lines, runs,
 * edges, counters, findings, names ... They get all they need in a struct thrum__paint and change
 * nothing but the list, the boxes and the memory in it. Choosing what is shown (state, axes, looks)
 * is not their task. Private to src/scene.
 *
 * The work of a painter is bounded by the picture's pixels and not by the size of the trace: it
 * walks merged stretches of the index, and where there are too many things it takes every n-th.
 * Names painted later must not cover what is important: the rects to be kept free are the boxes.
 * Without memory a painter sets list->failed.
 */
#ifndef SCENE_PAINT_PAINT_H
#define SCENE_PAINT_PAINT_H

#include "scene/counters.h"
#include "scene/found.h"
#include "scene/scene.h"

#define THRUM__STRIP_MARGIN 12  /* px at either side of its columns */
#define THRUM__STRIP_HEAD 20    /* px above its columns, for times and flags */
#define THRUM__STRIP_FOOT 4     /* px below them */
#define THRUM__OFF_CPU_HEIGHT 3 /* px: of the line along a lane that was off its processor */
#define THRUM__BIN 2            /* px: width of a column of the strip */
#define THRUM__BINS_MAX 2048

/* Rects that names must not cover. */
struct thrum__paint_boxes {
	struct thrum__draw_rect *rects;
	uint32_t count, room;
};

/* The heights of the strip's columns. They are kept until the scene is updated or the strip gets
 * another size: computing them takes longer than the rest of a frame if the trace is big. */
struct thrum__paint_strip_columns {
	bool is_known;
	int64_t start, end;
	float width, height;
	uint16_t grey[THRUM__BINS_MAX], blue[THRUM__BINS_MAX];
	bool knows_found; /* `found` holds for the present search */
	uint8_t found[THRUM__BINS_MAX];
	bool knows_failed, is_of_bands; /* `failed` holds; without groups that always fail */
	bool failed[THRUM__BINS_MAX];   /* a task failed there */
};

/* Kept from frame to frame, so that a frame allocates nothing. */
struct thrum__paint_memory {
	struct thrum__paint_boxes boxes;
	struct thrum__paint_boxes notes; /* pins and notes of the chosen finding, for the pointer */
	uint32_t *scratch;               /* of scratch_room; used by one painter at a time */
	uint32_t scratch_room;
	uint64_t *seen; /* bits; of seen_room words; used by one painter at a time */
	uint32_t seen_room;
	struct thrum__scene_counter_place counters[THRUM__COUNTERS_SHOWN_MAX]; /* for the pointer */
	uint32_t counter_count;
	struct thrum__paint_strip_columns strip;
	struct thrum__scene_found found;
};

struct thrum__paint {
	const struct thrum__scene *scene;
	const struct thrum__model *model; /* scene, model ... memory are NULL in coarse.c */
	const struct thrum__layout *layout;
	const struct thrum__index *index;
	const struct thrum__scene_state *state;
	const struct thrum__draw_metrics *metrics;
	const struct thrum__scene_time_axis *time;
	const struct thrum__scene_track_axis *tracks;
	struct thrum__draw_list *list;
	struct thrum__paint_boxes *boxes;
	struct thrum__paint_memory *memory;
	float width, height;            /* of the whole list */
	float ruler_top;                /* the strip's height, or 0 */
	float top, bottom;              /* of the tracks */
	float left;                     /* time begins here: 0, or the end of the bands' gutter */
	float right;                    /* the tracks end here, and the counters' gutter begins */
	float taken_from, taken_to;     /* of the ruler, for the range's length: no tick's label */
	struct thrum__bands_pen *bands; /* NULL: rows */
	int64_t from, to;               /* the times at x = 0 and at x = right */
	float unit_gap; /* px: units closer than this merge; set by thrum__paint_tracks */
};

/* ---- Painters, in the order in which a frame calls them ------------------------------------ */

void thrum__paint_gaps(struct thrum__paint *);    /* alone, for bands */
void thrum__paint_regions(struct thrum__paint *); /* folds, spans, suspensions, gaps, track bands */
void thrum__paint_folds(struct thrum__paint *);   /* the folds alone */
void thrum__paint_grid(struct thrum__paint *);    /* ruler and grid */
void thrum__paint_tracks(struct thrum__paint *);  /* lines, runs, ends, failures */
void thrum__paint_creations(struct thrum__paint *);
void thrum__paint_edges(struct thrum__paint *);
void thrum__paint_counters(struct thrum__paint *);
/* Paints a distribution on its scale; `points` has room for `room` points. Returns y of its last
 * median. *p99 becomes the last 99th percentile, if there is one. */
float thrum__paint_percentiles(struct thrum__paint *, const struct thrum__counter *,
	const struct thrum__scene_counter_place *, int colour, struct thrum__draw_point *points,
	size_t room, int64_t *p99);
void thrum__paint_findings(struct thrum__paint *); /* pins, paths and notes of the chosen finding */
void thrum__paint_names(struct thrum__paint *);
void thrum__paint_empty(struct thrum__paint *); /* a message, if no task is in sight */
/* This message, below `top`: the nearest task ends `before` the window, or begins `after` it. */
void thrum__paint_nothing(struct thrum__paint *, float top, int64_t before, int64_t after);
void thrum__paint_strip(struct thrum__paint *, float top, float height);

/* Draws the flags that users set, with their texts and lines. */
void thrum__paint_bookmarks(struct thrum__paint *);
/* Whether the flag or the text of a mark stands there on the ruler. */
bool thrum__paint_is_marked(const struct thrum__paint *, float from, float to);
void thrum__paint_legend(struct thrum__paint *);

/* ---- Parts of the strip, also for the coarse picture (strip.c) ----------------------------- */

static inline float thrum__paint_strip_height(float width)
{
	return width < THRUM__NARROW ? THRUM__STRIP_NARROW : THRUM__STRIP;
}

/* The ground below the columns. */
void thrum__paint_strip_ground(struct thrum__paint *, float top, float height);

/* Paints columns of THRUM__BIN px each, from x = left on, that stand on y = base. */
void thrum__paint_columns(struct thrum__draw_list *, int z, int colour, float left, float base,
	const uint16_t *heights, uint32_t count);

/* Returns the height of a column for a share of time running (0 … 1), of at most `room`. */
uint16_t thrum__paint_busy(double share, float room);

/* ---- Texts and taken places (paint.c) ------------------------------------------------------ */

/* Returns a text's width in px. */
float thrum__paint_width(const struct thrum__paint *, const char *text, size_t size, int font);

/* Copies the longest beginning of a text that is at most `room` px wide. A cut text ends with "…"
 * and keeps 5 characters at least; if not even these fit, the result is "". Returns its size. */
size_t thrum__paint_fit(const struct thrum__paint *, const char *text, size_t size, int font,
	float room, char *to, size_t to_size);

/* The same for a text and one that follows it, which is never cut: if it has no room, the result is "". */
size_t thrum__paint_fit_before(const struct thrum__paint *, const char *text, size_t size,
	const char *tail, int font, float room, char *to, size_t to_size);

/* Whether a rect overlaps one of the boxes. O(boxes). */
bool thrum__paint_boxes_hit(const struct thrum__paint_boxes *, float x, float y, float width,
	float height);
/* Adds a box; without memory it is left out. */
void thrum__paint_boxes_add(struct thrum__paint_boxes *, float x, float y, float width,
	float height);

/* Paints the ground's colour behind a text, so that nothing shines through it. */
void thrum__paint_halo(struct thrum__paint *, float x, float y, float width, float height);

/* Returns the memory's scratch with room for so many; without memory NULL, and the list fails. */
uint32_t *thrum__paint_scratch(struct thrum__paint *, uint32_t count);

/* ---- Times and tracks as places ------------------------------------------------------------ */

static inline float thrum__paint_x(const struct thrum__paint *p, int64_t time)
{
	return (float)thrum__scene_time_axis_x(p->time, time);
}

/* Returns x of a time, at most 4 px beyond the edges of the tracks. OPEN is the trace's end. */
float thrum__paint_clamped(const struct thrum__paint *, int64_t time);

/* Returns how many ns are `pixels` wide outside of folds, at least 1. */
int64_t thrum__paint_span(const struct thrum__paint *, float pixels);

/* Returns the nearest of 1, 2, 5 × 10ⁿ at or above `least`, at least 1: a step of a scale. */
double thrum__paint_step(double least);

/* Returns the box of a unit's track, or NULL if it is out of sight. */
const struct thrum__scene_track_box *thrum__paint_box(const struct thrum__paint *, uint32_t unit);

/* Whether a track shows no marks except failures, since it is too low or too crowded. */
static inline bool thrum__paint_is_dense(const struct thrum__scene_track_box *box)
{
	return box->size >= THRUM__TRACK_DENSE;
}

/* Returns y of a track's line, on a whole pixel. */
static inline float thrum__paint_line(const struct thrum__scene_track_box *box)
{
	return (float)(int)(box->line + 0.5f);
}

/* Returns how far the uprights at a unit's ends reach above and below its line. */
static inline float thrum__paint_reach(const struct thrum__scene_track_box *box)
{
	float reach = box->bar / 2 + 1, room = box->height / 2 - 1;

	return reach < room ? reach : room;
}

/* ---- Looks and runs of units --------------------------------------------------------------- */

/* Returns bits of enum thrum__scene_look. */
static inline int thrum__paint_look(const struct thrum__paint *p, uint32_t unit)
{
	return p->scene->looks ? p->scene->looks[unit] : 0;
}

/* Whether a unit fades because others are related to the selection and it is not. */
static inline bool thrum__paint_fades(const struct thrum__paint *p, uint32_t unit)
{
	return p->scene->is_related && !(thrum__paint_look(p, unit) & THRUM__LOOK_RELATED);
}

/* Returns the width in px of the unit's run that covers a time, or 0. */
float thrum__paint_run_width(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Whether a visible run of the unit (> 4 px) covers a time. Marks on it have the ground's
 * colour. */
bool thrum__paint_is_running(const struct thrum__paint *, uint32_t unit, int64_t time);

/* ---- Rows of the model and the index ------------------------------------------------------- */

/* Returns the first of a model's gaps that ends after a time. Gaps and garbage collections are in the order
 * of their ends: so whoever looks for all that lie in a time also looks at this many rows behind.
 * O(log n). */
#define THRUM__LOOK_AHEAD 4096
uint32_t thrum__paint_first_gap_after(const struct thrum__model_rows *, int64_t time);

/* Returns a gap in px, at least `least`, with which the index shows at most about `most` stretches
 * of a kind in all tracks. It is estimated from some of the tracks. */
float thrum__paint_coarseness(const struct thrum__paint *, int kind, float least, uint32_t most);

/* ---- The units of a track, each by itself if it can be told apart (units.c) ---------------- */

/* Returns a unit's end as it is drawn: the trace's end if the unit lasts. */
int64_t thrum__paint_end_of_unit(const struct thrum__paint *, uint32_t unit);

/* Returns the position in the index of a track's first unit in sight; *end is behind the last. */
size_t thrum__paint_first_in_sight(const struct thrum__paint *, uint32_t track, size_t *end);

struct thrum__paint_units_walk {
	const struct thrum__paint *p;
	struct thrum__index_walk walk;
	uint32_t track, tracks;
	uint32_t allowance; /* about how many units may be looked at */
	uint32_t looked_at;
	int64_t wide;   /* ns: shorter units may be merged */
	int64_t until;  /* end of the stretch whose units are being walked */
	size_t at, end; /* positions in it */
};

struct thrum__paint_units_seen {
	uint32_t unit; /* NONE: several units that can't be told apart */
	uint32_t first;
	int64_t start, end;
};

/* Walks what is seen of the units of a box. Units that are `gap` px or more apart are never merged.
 * The second function returns false at the end. */
void thrum__paint_units_begin(struct thrum__paint_units_walk *, const struct thrum__paint *,
	const struct thrum__scene_track_box *, float gap, uint32_t allowance);
bool thrum__paint_units_next(struct thrum__paint_units_walk *, struct thrum__paint_units_seen *);

#endif
