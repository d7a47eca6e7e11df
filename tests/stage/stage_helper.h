/* SPDX-License-Identifier: ISC */
/* A stage of traces told by hand. */
#ifndef STAGE_STAGE_HELPER_H
#define STAGE_STAGE_HELPER_H

#include "stage/stage.h"

#define STAGE_WIDTH 1000
#define STAGE_HEIGHT 800

struct show {
	struct thrum__stage *stage;
	struct thrum__model *models[4];
	double now; /* ms */
};

/* So many traces: a main loop, 40 workers that each run now and then; idle for long in between. */
void show_init(struct show *, unsigned traces);
void show_finish(struct show *);
void show_add(struct show *, const char *story); /* another trace, told so */

/* What sets a test up with one trace or two, and tears it down. */
int show_one(void **state);
int show_two(void **state);
int show_end(void **state);

/* The next frame, some ms later; what it returned. */
int show_frame(struct show *, double later);
/* Until nothing moves any more. */
void show_settle(struct show *);

void show_set(struct show *, const char *state);
void show_expect(struct show *, const char *state);

/* Where a part's time lies on the stage, and a track's line. */
float show_x(const struct show *, uint32_t part, int64_t time);
float show_y(const struct show *, uint32_t part, uint32_t track);

/* Press at one place, release at another, moving there in some steps, with a frame after each. */
void show_drag(struct show *, float x1, float y1, float x2, float y2, unsigned with);

struct thrum__scene_state *show_state(struct show *, uint32_t part);

#endif
