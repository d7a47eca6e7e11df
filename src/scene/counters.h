/* SPDX-License-Identifier: ISC */
/* What a counter is at a time, and where it was painted. Private to this room. */
#ifndef SCENE_COUNTERS_H
#define SCENE_COUNTERS_H

#include "scene/scene.h"

/* Which counter was painted, and on which scale: y_base is y of the value `base`. */
struct thrum__scene_counter_place {
	uint32_t counter;
	int colour;
	double base, top;
	float y_base, y_top;
};

/* The first value at or after a time, from value `low` on. Cheap where it is near. */
uint32_t thrum__scene_counter_seek(const struct thrum__counter *, uint32_t low, int64_t time);

/* What is known at value `at`: the one before it. */
int64_t thrum__scene_counter_before(const struct thrum__counter *, uint32_t at);

/* What it is at a time, or was last known to be; returns whether no event was lost since then. */
bool thrum__scene_counter_at(const struct thrum__model *, const struct thrum__counter *,
	int64_t time, int64_t *value);

/* 1234567 to "1 234 567". */
void thrum__scene_counter_words(int64_t value, char *to, size_t size);

/* y of a value in the last frame. */
float thrum__scene_counter_y(const struct thrum__scene_counter_place *, double value);

/* The counter of the last frame whose line is nearest to y at a time, and the line's y there. */
struct thrum__scene_counter_below {
	const struct thrum__scene_counter_place *place; /* NULL: none is shown */
	int64_t value;
	bool is_known;
	float y;
};
struct thrum__scene_counter_below thrum__scene_counter_nearest(const struct thrum__scene *,
	int64_t time, float y);

#endif
