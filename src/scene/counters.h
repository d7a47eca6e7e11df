/* SPDX-License-Identifier: ISC */
/* The value of a counter at a time, and the place where it was painted. For this room and the stage
 * only. */
#ifndef SCENE_COUNTERS_H
#define SCENE_COUNTERS_H

#include "scene/scene.h"

/* A counter in the last frame and its scale: y_base is y of the value `base`, y_top that of
 * `top`. */
struct thrum__scene_counter_place {
	uint32_t counter; /* of the model */
	int colour;
	double base, top;
	float y_base, y_top;
};

/* Returns the row of the first value at or after a time, from row `low` on. O(log distance). */
uint32_t thrum__scene_counter_seek(const struct thrum__counter *, uint32_t low, int64_t time);

/* Returns the value that the counter had just before row `at`. */
int64_t thrum__scene_counter_before(const struct thrum__counter *, uint32_t at);

/* Gives the last value that the trace has at or before a time. Returns false if events were lost
 * since, so that the counter may have another value. */
bool thrum__scene_counter_at(const struct thrum__model *, const struct thrum__counter *,
	int64_t time, int64_t *value);

/* The percentiles of a distribution's observations in a stretch of THRUM__COUNTER_STRETCH px, from x
 * on. Looks at some of many observations. `row` is the first one at or after the stretch's
 * beginning. */
#define THRUM__COUNTER_STRETCH 6
struct thrum__scene_percentiles {
	int64_t p10, p50, p90, p99;
	uint32_t next; /* the first row behind it */
	bool is_empty;
};
struct thrum__scene_percentiles thrum__scene_counter_percentiles(const struct thrum__counter *,
	uint32_t row, const struct thrum__scene_time_axis *, float x);

/* Writes 1234567 as "1 234 567". */
void thrum__scene_counter_words(int64_t value, char *to, size_t size);

/* Returns y of a value in the last frame. */
float thrum__scene_counter_y(const struct thrum__scene_counter_place *, double value);

/* Finds the counter of the last frame whose line or band is nearest to a point. `y` is the line's, or
 * that of the band's median. */
struct thrum__scene_counter_below {
	const struct thrum__scene_counter_place *place; /* NULL: no counter is shown there */
	int64_t value;                                  /* of a distribution, the median */
	bool is_known;                                  /* as thrum__scene_counter_at returns */
	bool is_distribution;
	struct thrum__scene_percentiles percentiles; /* of a distribution, and never empty */
	float y;
};
struct thrum__scene_counter_below thrum__scene_counter_nearest(const struct thrum__scene *, float x,
	float y);

#endif
