/* SPDX-License-Identifier: ISC */
/* What the painters of a frame share. Private to this room. */
#ifndef SCENE_PAINT_PAINT_H
#define SCENE_PAINT_PAINT_H

#include "scene/counters.h"
#include "scene/found.h"
#include "scene/scene.h"

#define THRUM__STRIP_MARGIN 12
#define THRUM__STRIP_HEAD 20 /* px above its columns, for times and flags */
#define THRUM__STRIP_FOOT 4
#define THRUM__BIN 2 /* px */
#define THRUM__BINS_MAX 2048

/* Where names must not go any more. */
struct thrum__paint_boxes {
	struct thrum__draw_rect *rects;
	uint32_t count, room;
};

/* The strip's columns. They hold until the scene is updated or the strip gets another size: of a big
 * trace, to ask for them takes longer than the rest of a frame. */
struct thrum__paint_strip_columns {
	bool is_known;
	int64_t start, end;
	float width, height;
	uint16_t grey[THRUM__BINS_MAX], blue[THRUM__BINS_MAX];
	bool knows_found; /* only until another search */
	uint8_t found[THRUM__BINS_MAX];
};

/* Kept from frame to frame, so that a frame allocates nothing. */
struct thrum__paint_memory {
	struct thrum__paint_boxes boxes;
	uint32_t *scratch; /* of scratch_room; anybody's within one function */
	uint32_t scratch_room;
	uint64_t *seen; /* bits; anybody's within one function */
	uint32_t seen_room;
	struct thrum__scene_counter_place counters[THRUM__COUNTERS_SHOWN_MAX]; /* for the pointer */
	uint32_t counter_count;
	struct thrum__paint_strip_columns strip;
	struct thrum__scene_found found;
};

struct thrum__paint {
	const struct thrum__scene *scene;
	const struct thrum__model *model; /* NULL: not there yet (coarse.c) */
	const struct thrum__layout *layout;
	const struct thrum__index *index;
	const struct thrum__scene_state *state;
	const struct thrum__draw_metrics *metrics;
	const struct thrum__scene_time_axis *time;
	const struct thrum__scene_track_axis *tracks;
	struct thrum__draw_list *list;
	struct thrum__paint_boxes *boxes;
	struct thrum__paint_memory *memory;
	float width, height; /* of the whole list */
	float ruler_top;     /* 0, or the strip's height */
	float top, bottom;   /* of the tracks */
	float right;         /* where the tracks end and the counters' gutter begins */
	int64_t from, to;    /* the window */
	float unit_gap;      /* px between units that are seen apart; thrum__paint_tracks sets it */
};

/* In the order of calling; each paints its z levels. paint_*.c */
void thrum__paint_regions(struct thrum__paint *); /* folds, spans, suspensions, gaps, track bands */
void thrum__paint_grid(struct thrum__paint *);    /* ruler and grid */
void thrum__paint_tracks(struct thrum__paint *);  /* lines, runs, ends, becomes, failures */
void thrum__paint_creations(struct thrum__paint *);
void thrum__paint_edges(struct thrum__paint *);
void thrum__paint_counters(struct thrum__paint *);
void thrum__paint_findings(struct thrum__paint *); /* pins, paths, notes */
void thrum__paint_names(struct thrum__paint *);
void thrum__paint_legend(struct thrum__paint *);
void thrum__paint_strip(struct thrum__paint *, float top, float height);
/* The strip's height and ground; columns on it or elsewhere, each THRUM__BIN px wide; how high one
 * is for a share of time running. */
static inline float thrum__paint_strip_height(float width)
{
	return width < THRUM__NARROW ? THRUM__STRIP_NARROW : THRUM__STRIP;
}
void thrum__paint_strip_ground(struct thrum__paint *, float top, float height);
void thrum__paint_columns(struct thrum__draw_list *, int z, int colour, float left, float base,
	const uint16_t *heights, uint32_t count);
uint16_t thrum__paint_busy(double share, float room);
void thrum__paint_empty(struct thrum__paint *); /* where there is nothing: what to do */

/* ---- Shared small things (paint.c) --------------------------------------------------------- */

static inline float thrum__paint_x(const struct thrum__paint *p, int64_t time)
{
	return (float)thrum__scene_time_axis_x(p->time, time);
}

/* Bits of enum thrum__scene_look of a unit. */
static inline int thrum__paint_look(const struct thrum__paint *p, uint32_t unit)
{
	return p->scene->looks ? p->scene->looks[unit] : 0;
}

/* Whether a unit is to fade because others are related to the selection and it isn't. */
static inline bool thrum__paint_fades(const struct thrum__paint *p, uint32_t unit)
{
	return p->scene->is_related && !(thrum__paint_look(p, unit) & THRUM__LOOK_RELATED);
}

/* The nearest of 1, 2, 5 × 10ⁿ at or above `least`, at least 1: steps of scales. */
double thrum__paint_step(double least);

/* Tracks that have no marks but failures: too low, or too crowded. */
static inline bool thrum__paint_is_dense(const struct thrum__scene_track_box *box)
{
	return box->size >= THRUM__TRACK_DENSE;
}

/* How far uprights at the ends of a unit reach above and below its line. */
static inline float thrum__paint_reach(const struct thrum__scene_track_box *box)
{
	float reach = box->bar / 2 + 1, room = box->height / 2 - 1;

	return reach < room ? reach : room;
}

float thrum__paint_width(const struct thrum__paint *, const char *text, size_t size, int font);

/* The longest beginning of a text that is at most `room` wide, with … in the end when it was cut,
 * never under 5 characters; "" when none fits. Returns its size. */
size_t thrum__paint_fit(const struct thrum__paint *, const char *text, size_t size, int font,
	float room, char *to, size_t to_size);

bool thrum__paint_boxes_hit(const struct thrum__paint_boxes *, float x, float y, float width,
	float height);
void thrum__paint_boxes_add(struct thrum__paint_boxes *, float x, float y, float width,
	float height);

/* The ground again, behind a text: nothing is to shine through it. */
void thrum__paint_halo(struct thrum__paint *, float x, float y, float width, float height);

/* How wide the run of the unit is that covers a time; 0: none does. */
float thrum__paint_run_width(const struct thrum__paint *, uint32_t unit, int64_t time);

/* Whether some run of the unit covers a time and is wide enough to be seen (> 4 px): marks on it
 * are then painted in the ground's colour. */
bool thrum__paint_is_running(const struct thrum__paint *, uint32_t unit, int64_t time);

/* ns that are `pixels` wide at a place of the window. */
int64_t thrum__paint_span(const struct thrum__paint *, float pixels);

/* x of a time, at most a few pixels beyond the tracks' edges; of OPEN: of the trace's end. */
float thrum__paint_clamped(const struct thrum__paint *, int64_t time);

/* Where a unit is; NULL: out of sight. */
const struct thrum__scene_track_box *thrum__paint_box(const struct thrum__paint *, uint32_t unit);

/* y of a track's line, on a whole pixel. */
static inline float thrum__paint_line(const struct thrum__scene_track_box *box)
{
	return (float)(int)(box->line + 0.5f);
}

/* The first of a model's spans, suspensions or gaps that starts after a time; they are in order but
 * for what is told at its end. */
uint32_t thrum__paint_first_span_after(const struct thrum__model_rows *, int64_t time);

/* The memory's scratch with room for so many; NULL, and the list failed, without memory. */
uint32_t *thrum__paint_scratch(struct thrum__paint *, uint32_t count);

/* Pixels, at least `least`, that must be between items of a kind so that at most about `most`
 * stretches are seen in all tracks: told from some of the tracks. */
float thrum__paint_coarseness(const struct thrum__paint *, int kind, float least, uint32_t most);

/* ---- The units of a track, one by one where they can be told apart (paint_units.c) ----------- */

/* The position of a track's first unit in sight; *end is behind the track's last. */
size_t thrum__paint_first_in_sight(const struct thrum__paint *, uint32_t track, size_t *end);

/* A unit's end as it is drawn. */
int64_t thrum__paint_end_of_unit(const struct thrum__paint *, uint32_t unit);

struct thrum__paint_units_walk {
	const struct thrum__paint *p;
	struct thrum__index_walk walk;
	uint32_t track, tracks;
	uint32_t allowance; /* how many may be looked at, about */
	uint32_t looked_at;
	int64_t wide;  /* ns: narrower ones may be merged */
	int64_t until; /* of the stretch that is looked into */
	size_t at, end;
};

struct thrum__paint_units_seen {
	uint32_t unit; /* NONE: several */
	uint32_t first;
	int64_t start, end;
};

/* Units that are `gap` pixels apart are seen apart. */
void thrum__paint_units_begin(struct thrum__paint_units_walk *, const struct thrum__paint *,
	const struct thrum__scene_track_box *, float gap, uint32_t allowance);
bool thrum__paint_units_next(struct thrum__paint_units_walk *, struct thrum__paint_units_seen *);

#endif
