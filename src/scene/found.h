/* SPDX-License-Identifier: ISC */
/*
 * Where the units are that the search found, so that a frame asks only for those in sight. Made
 * when it is first asked for; a trace that grows adds to it. Private to this room.
 */
#ifndef SCENE_FOUND_H
#define SCENE_FOUND_H

#include <stdbool.h>
#include <stdint.h>

struct thrum__scene;

struct thrum__scene_found_unit {
	int64_t start;
	uint32_t track, unit;
};

/* In the order of tracks and starts; from `sorted` on as they came. */
struct thrum__scene_found {
	struct thrum__scene_found_unit *all;
	uint32_t sorted, count, room;
	bool is_known;
};

/* The scene's, or NULL: out of memory. O(units) after another search, and now and then when the
 * trace has grown; else O(1). */
const struct thrum__scene_found *thrum__scene_found_of(const struct thrum__scene *);

/* A unit that is found, and is new or was moved since. */
void thrum__scene_found_add(const struct thrum__scene *, uint32_t unit);

/* Whether its unit is still there; else it is elsewhere among them, or gone. */
bool thrum__scene_found_holds(const struct thrum__scene *, const struct thrum__scene_found_unit *);

/* The first of the sorted ones that doesn't lie before. O(log n). */
uint32_t thrum__scene_found_seek(const struct thrum__scene_found *, uint32_t track, int64_t start);

#endif
