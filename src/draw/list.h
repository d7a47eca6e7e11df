/* SPDX-License-Identifier: ISC */
/*
 * The display list: the only contract between what decides what is seen and what paints it. Batches
 * of plain items, each batch of one style, in the order in which they are to be painted. Colours
 * and fonts are names that a theme and a front end give their meaning; coordinates are CSS pixels,
 * y down. A canvas clips to the list's rectangle and does nothing but replay.
 */
#ifndef DRAW_LIST_H
#define DRAW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw/theme.h"

enum thrum__draw_op {
	THRUM__OP_RECT, /* filled with colour: struct thrum__draw_rect */
	THRUM__OP_LINE, /* stroked with colour, width, dash: struct thrum__draw_segment */
	THRUM__OP_POLY, /* the same; struct thrum__draw_point, one with x = NAN ends each polyline */
	THRUM__OP_TRI,  /* filled triangles: three struct thrum__draw_point each */
	THRUM__OP_RING, /* circles filled with fill, stroked with colour, width: struct
			   thrum__draw_circle */
	THRUM__OP_TEXT, /* colour, font: struct thrum__draw_text */
};

/* What lies above what. */
enum thrum__draw_z {
	THRUM__Z_REGION,
	THRUM__Z_GRID,
	THRUM__Z_BAND,
	THRUM__Z_CREATE,
	THRUM__Z_LINE,
	THRUM__Z_CASING, /* of counters: hides lines but no runs */
	THRUM__Z_RUN,
	THRUM__Z_END,
	THRUM__Z_EDGE,
	THRUM__Z_COUNTER,
	THRUM__Z_FINDING,
	THRUM__Z_HALO,
	THRUM__Z_LABEL,
	THRUM__Z_BADGE,
	THRUM__Z_BADGE_TEXT,
	THRUM__Z_FRAME,
	THRUM__Z_FRAME_MARK,
	THRUM__Z_FRAME_TEXT,
};

/* Dashes, as lengths on and off in pixels. X(NAME, word, lengths…) */
#define THRUM__DASHES(X) \
	X(SOLID, "-") \
	X(1_2, "1,2", 1, 2) \
	X(1_3, "1,3", 1, 3) \
	X(2_2, "2,2", 2, 2) \
	X(2_3, "2,3", 2, 3) \
	X(3_3, "3,3", 3, 3) \
	X(4_4, "4,4", 4, 4) \
	X(5_3, "5,3", 5, 3) \
	X(7_3, "7,3", 7, 3) \
	X(9_3_2_3, "9,3,2,3", 9, 3, 2, 3)

enum thrum__draw_dash {
#define THRUM__X(NAME, ...) THRUM__DASH_##NAME,
	THRUM__DASHES(THRUM__X)
#undef THRUM__X
	THRUM__DASH_COUNT,
};

/* The lengths of a dash; returns how many: 0 for a solid line. */
size_t thrum__draw_dash_lengths(int dash, float lengths[4]);

struct thrum__draw_style {
	uint8_t op, z, colour, fill; /* fill: of rings */
	uint8_t dash, font;
	bool is_volatile; /* texts that change with each frame: not worth caching */
	float width;      /* of strokes */
};

struct thrum__draw_rect {
	float x, y, width, height;
};
struct thrum__draw_segment {
	float x1, y1, x2, y2;
};
struct thrum__draw_point {
	float x, y;
};
struct thrum__draw_circle {
	float x, y, radius;
};
struct thrum__draw_text {
	float x, y;            /* left end of the base line */
	uint32_t offset, size; /* in the list's `text`; valid UTF-8 without control characters */
};

struct thrum__draw_batch {
	struct thrum__draw_style style;
	uint32_t count, room; /* of items; polylines: of points with the ending ones */
	void *items;
};

struct thrum__draw_list {
	float x, y, width, height; /* where it goes on the canvas */
	struct thrum__draw_batch *batches;
	uint32_t batch_count, batch_room, last;
	char *text;
	uint32_t text_size, text_room;
	bool failed; /* out of memory: what is missing is missing */
};

void thrum__draw_list_init(struct thrum__draw_list *);
void thrum__draw_list_finish(struct thrum__draw_list *);

/* Empties it and keeps its memory, for the next frame. */
void thrum__draw_list_clear(struct thrum__draw_list *, float width, float height);

/* Puts the batches into the order of z, and drops the empty ones. */
void thrum__draw_list_sort(struct thrum__draw_list *);

/*
 * Add items. Rects are put on whole pixels (and are never thinner than one); level and upright
 * lines without dash become rects; dashed ones of odd width are put on .5, so that all canvases
 * agree. What lies wholly outside of the list's rectangle, or isn't finite, is left out.
 */
void thrum__draw_rect(struct thrum__draw_list *, int z, int colour, float x, float y, float width,
	float height);
void thrum__draw_horizontal(struct thrum__draw_list *, int z, int colour, float x1, float x2,
	float y, float width, int dash);
void thrum__draw_vertical(struct thrum__draw_list *, int z, int colour, float x, float y1, float y2,
	float width, int dash);
void thrum__draw_line(struct thrum__draw_list *, int z, int colour, float x1, float y1, float x2,
	float y2, float width);
void thrum__draw_polyline(struct thrum__draw_list *, int z, int colour,
	const struct thrum__draw_point *, size_t count, float width, int dash);
void thrum__draw_triangle(struct thrum__draw_list *, int z, int colour,
	const struct thrum__draw_point[3]);
void thrum__draw_ring(struct thrum__draw_list *, int z, int colour, int fill, float x, float y,
	float radius, float width);

/* Makes what can't be shown (control characters, bidi controls, bad UTF-8) into U+FFFD. */
void thrum__draw_text(struct thrum__draw_list *, int z, int colour, int font, float x, float y,
	const char *text, size_t size, bool is_volatile);

/* How many items it has: rects; and texts and strokes (a polyline or ring is one). */
void thrum__draw_list_count(const struct thrum__draw_list *, size_t *rects, size_t *others);

/*
 * Writes it as text, a line an item, for tests: "z op colour … numbers text". Returns the length
 * that the whole has, like snprintf.
 */
size_t thrum__draw_list_print(const struct thrum__draw_list *, char *to, size_t size);

#endif
