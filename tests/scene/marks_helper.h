/* SPDX-License-Identifier: ISC */
/* A frame of a trace that a test writes event by event, and questions about its items. */
#ifndef SCENE_MARKS_HELPER_H
#define SCENE_MARKS_HELPER_H

#include "scene/paint/paint.h"

struct marks {
	struct thrum__model *model;
	struct thrum__scene *scene;
	struct thrum__draw_list list;
};

void marks_init(struct marks *, struct thrum__model *);
void marks_finish(struct marks *);

/* Paints a window in tracks of a height (0: what fits), folds off, 1000 × 400. */
void marks_frame(struct marks *, int64_t from, int64_t to, float track_height);
/* Paints again, after the state was changed. */
void marks_again(struct marks *);

/* x of a time and y of the line of the track of the task with an id. */
float marks_x(const struct marks *, int64_t time);
float marks_y(const struct marks *, uint64_t id);
const struct thrum__scene_track_box *marks_box(const struct marks *, uint64_t id);

/* How many items of a style have their middle within `slack` px of a place; slack 0: anywhere.
 * dash -1: any. */
unsigned marks_near(const struct marks *, int z, int op, int colour, int dash, float x, float y,
	float slack);
unsigned marks_count(const struct marks *, int z, int op, int colour, int dash);

/* The rects of a style that cover a place; the height of the last goes to *height. */
unsigned marks_over(const struct marks *, int z, int colour, float x, float y, float *height);

/* Whether some text is exactly this. */
bool marks_has_text(const struct marks *, const char *text);

#endif
