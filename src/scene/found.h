/* SPDX-License-Identifier: ISC */
/*
 * The places of the units that the search found, so that a frame looks only at those in sight. The
 * list is made when it is first needed; new units of a growing trace are added. Before the scene has
 * rows, their tracks are NONE. Private to this room.
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

/* Up to `sorted` the units are in the order of tracks, then starts; the rest are as they came. */
struct thrum__scene_found {
	struct thrum__scene_found_unit *all;
	uint32_t sorted, count, room;
	bool is_known;
};

/* Returns the scene's list, or NULL without memory. O(units) after another search, and now and then
 * when the trace has grown; else O(1). */
const struct thrum__scene_found *thrum__scene_found_of(const struct thrum__scene *);

/* Adds a found unit that is new or was moved. Without memory the list is made anew later. */
void thrum__scene_found_add(const struct thrum__scene *, uint32_t unit);

/* Whether the unit still is where the item says. If not, another item has its place, or the unit is
 * gone. */
bool thrum__scene_found_holds(const struct thrum__scene *, const struct thrum__scene_found_unit *);

/* Returns the first sorted item at or after a track and start. O(log n). */
uint32_t thrum__scene_found_seek(const struct thrum__scene_found *, uint32_t track, int64_t start);

#endif
