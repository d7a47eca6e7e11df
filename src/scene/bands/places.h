/* SPDX-License-Identifier: ISC */
/* What place.c and choose.c share: which bands are placed, and how high they are. Private to them. */
#ifndef SCENE_BANDS_PLACES_H
#define SCENE_BANDS_PLACES_H

#include "scene/bands/bands.h"

/* The bands that are placed: those of a scene, or those of two in pairs, the upper one first. Both
 * get the same places, so that they scroll together. A side that lacks a thread, queue or group has an
 * empty place there. */
struct thrum__bands_sides {
	struct thrum__scene_bands *bands[2];
	unsigned count;
	float above; /* px above each place for its name, where there is no gutter */
};

/* Which thread, queue or group of each side stands in a place; or NONE. */
struct thrum__bands_pair {
	uint32_t index[2];
};

/* The groups in their order: those of one side or of both, then those that only one has. */
struct thrum__bands_chosen {
	struct thrum__bands_pair pairs[2 * THRUM__FAMILY_BANDS];
	uint32_t count, both; /* both: those before are in pairs, or there is one side */
};

/* How a decade of durations is shown. A middle band has half as many classes as a large one. */
struct thrum__bands_decade {
	unsigned classes; /* a decade, of large bands */
	float height;     /* px of one */
};

/* With a range each band has two lines of numbers. */
static inline bool thrum__bands_has_range(const struct thrum__scene_bands_state *state)
{
	return state->range_from < state->range_to;
}

/* The first side that has a group. */
static inline unsigned thrum__bands_side_of(struct thrum__bands_pair pair)
{
	return pair.index[0] == THRUM__NONE ? 1 : 0;
}

/* Chooses the bands, and puts them in their order. */
void thrum__bands_choose(const struct thrum__bands_sides *, struct thrum__bands_chosen *);

/* Returns the first measure with which all bands fit into `room` px; the one with which the view scrolls
 * if none does. */
const struct thrum__bands_decade *thrum__bands_choose_measure(const struct thrum__bands_sides *,
	const struct thrum__bands_chosen *, float room);

/* Returns the place of a group, without y. */
struct thrum__scene_bands_place thrum__bands_measure_group(const struct thrum__bands_sides *,
	struct thrum__bands_pair, const struct thrum__bands_decade *);

/* Returns how far the band of a group or queue is opened. */
int thrum__bands_is_opened(const struct thrum__bands_sides *, unsigned side, uint32_t group);

#endif
