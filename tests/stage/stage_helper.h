/* SPDX-License-Identifier: ISC */
/* A stage with traces that a test writes event by event. */
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

/* Makes so many traces: a main loop and 40 workers that run now and then, with long pauses. */
void show_init(struct show *, unsigned traces);
void show_finish(struct show *);
void show_add(struct show *, const char *story); /* another trace, told so */
/* A story of 20 requests "GET /user N" that take so many ms each, one every 10 ms, and as many tasks
 * with the label `own`. It stays until the next call. */
const char *show_requests(int ms, const char *own);

/* Set a test up with one trace or two, and tear it down. */
int show_one(void **state);
int show_two(void **state);
int show_end(void **state);

/* Makes the next frame, some ms later; returns its result. */
int show_frame(struct show *, double later);
/* Makes frames until nothing moves any more. */
void show_settle(struct show *);

void show_set(struct show *, const char *state);
void show_expect(struct show *, const char *state);

/* x of a part's time on the stage, and y of a track's line. */
float show_x(const struct show *, uint32_t part, int64_t time);
float show_y(const struct show *, uint32_t part, uint32_t track);

/* Press at one place, release at another, moving there in some steps, with a frame after each. */
void show_drag(struct show *, float x1, float y1, float x2, float y2, unsigned with);

struct thrum__scene_state *show_state(struct show *, uint32_t part);

#endif
