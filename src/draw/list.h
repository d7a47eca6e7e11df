/* SPDX-License-Identifier: ISC */
/*
 * draw/: the display list, the theme (theme.h), and the canvases that paint lists as SVG, PNG and
 * PDF (canvas.h) or with cairo on a screen (replay.h). Nothing here decides what a picture shows.
 *
 * The display list is the only contract between the code that decides what is seen and the canvas
 * that paints it: batches of plain items, each batch of one style, in the order of painting.
 * Colours and fonts are numbers that a theme and a canvas give their meaning; coordinates are CSS
 * pixels, y down. A canvas clips to the list's rectangle and does nothing else but paint the items.
 *
 * For each frame: thrum__draw_list_clear, the functions that add items, thrum__draw_list_sort. They
 * return nothing: without memory they leave items out and set `failed`.
 */
#ifndef DRAW_LIST_H
#define DRAW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw/theme.h"

/* The kinds of items: which parts of the style they use, and their type, struct thrum__draw_… */
enum thrum__draw_op {
	THRUM__OP_RECT,  /* filled with colour: rect */
	THRUM__OP_LINE,  /* stroked with colour, width and dash: segment */
	THRUM__OP_POLY,  /* stroked alike: point; x = NAN ends each polyline */
	THRUM__OP_TRI,   /* filled triangles in colour: point, three for each triangle */
	THRUM__OP_RING,  /* filled with fill, stroked with colour and width: circle */
	THRUM__OP_TEXT,  /* in colour and font: text */
	THRUM__OP_CELLS, /* grids of small cells, each of its own colour: cells */
};

/* Layers, from the lowest to the highest. */
enum thrum__draw_z {
	THRUM__Z_REGION,
	THRUM__Z_GRID,
	THRUM__Z_BAND,
	THRUM__Z_CREATE,
	THRUM__Z_LINE,
	THRUM__Z_CASING, /* of counters: hides the lines below it but no runs */
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

/* Dashes, as lengths of strokes and spaces in pixels. X(NAME, word, lengths…) */
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

/* Gives the lengths of a dash and returns how many there are; 0 for a solid line. */
size_t thrum__draw_dash_lengths(int dash, float lengths[4]);

struct thrum__draw_style {
	uint8_t op, z, colour, fill; /* fill: for rings */
	uint8_t dash, font;
	bool is_volatile; /* texts that change with each frame: don't cache them */
	float width;      /* of strokes, in pixels */
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
	float x, y;            /* the left end of the base line */
	uint32_t offset, size; /* in the list's `text`; valid UTF-8 without control characters */
};

/* A grid of cells of THRUM__CELL_WIDTH by 1 px, row by row from the top. Each has a byte: 0 for
 * nothing, else its colour + 1. Thousands of cells are one item, and cost a canvas one image. */
#define THRUM__CELL_WIDTH 2
struct thrum__draw_cells {
	float x, y; /* whole pixels */
	uint32_t columns, rows;
	uint32_t offset; /* of the bytes, in the list's `text` */
};

/* The items of one style. */
struct thrum__draw_batch {
	struct thrum__draw_style style;
	uint32_t count, room; /* of items; for polylines of points, with those that end them */
	void *items;
};

struct thrum__draw_list {
	float x, y, width, height; /* its place on the canvas */
	struct thrum__draw_batch *batches;
	uint32_t batch_count, batch_room, last; /* last: the batch used last */
	char *text;                             /* of texts, and the bytes of cells */
	uint32_t text_size, text_room;
	bool failed; /* out of memory: some items are missing */
};

void thrum__draw_list_init(struct thrum__draw_list *);
/* Frees all, and makes the list as after init. */
void thrum__draw_list_finish(struct thrum__draw_list *);

/* Empties the list for the next frame and keeps its memory. Sizes are in pixels, up to 1e6. */
void thrum__draw_list_clear(struct thrum__draw_list *, float width, float height);

/* Sorts the batches by z, in the order in which they came within a z, and drops empty ones. */
void thrum__draw_list_sort(struct thrum__draw_list *);

/*
 * These add an item each. Rects go on whole pixels and are one pixel thick at least. Solid
 * horizontal and vertical lines become rects; dashed ones of odd width go on .5, so that all
 * canvases agree. Items that lie wholly outside of the list's rectangle, or aren't finite, are left
 * out.
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

/* Adds a text, at most 400 bytes of it. Replaces characters that can't be shown (control
 * characters, bidi controls, bad UTF-8) by U+FFFD. The list keeps a copy. */
void thrum__draw_text(struct thrum__draw_list *, int z, int colour, int font, float x, float y,
	const char *text, size_t size, bool is_volatile);

/* Adds a grid of columns × rows cells, of which the list keeps a copy. The caller gives bytes as in
 * struct thrum__draw_cells; bytes that are no colour become 0. Only rows and columns that lie in the
 * list's rectangle are kept; nothing is added when no cell has a colour. */
void thrum__draw_cells(struct thrum__draw_list *, int z, float x, float y, uint32_t columns,
	uint32_t rows, const uint8_t *bytes);

/*
 * Finds the rects of one colour in a grid, for canvases that can't paint images: a run of equal cells
 * in a row, with the rows below that have the same run. Set *row and *column to 0 for the first;
 * each call gives the next rect in px from the list's corner, and returns false at the end.
 */
bool thrum__draw_cells_next(const struct thrum__draw_list *, const struct thrum__draw_cells *,
	int colour, uint32_t *row, uint32_t *column, struct thrum__draw_rect *);

/* Counts the rects, and all other items: a polyline counts as one. */
void thrum__draw_list_count(const struct thrum__draw_list *, size_t *rects, size_t *others);

/*
 * Writes the list as text for tests, one line for each item: "z op colour … numbers text". Returns
 * the length of the whole text like snprintf, and ends it with a NUL if size > 0.
 */
size_t thrum__draw_list_print(const struct thrum__draw_list *, char *to, size_t size);

#endif
