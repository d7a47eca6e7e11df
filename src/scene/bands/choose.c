/* SPDX-License-Identifier: ISC */
/* Chooses which bands are shown, in which order, and the heights of their classes. */
#include <string.h>

#include "scene/bands/opened.h"

/* Heights in px. */
#define SMALL 24
#define LEAST 44 /* of a band without the space below it: has room for the numbers beside a range */
#define SPACE 8  /* below a band */

/* The first of these with which all bands fit is taken. */
static const struct thrum__bands_decade measures[] = {{8, 4}, {8, 3}, {4, 5}, {4, 4}, {4, 3},
	{2, 4}, {2, 3}};

#define MEASURES (sizeof measures / sizeof *measures)
#define SCROLLS 4 /* the one with which the view scrolls, if none fits */

/* ---- Heights ------------------------------------------------------------------------------- */

static const struct thrum__group *group_of(const struct thrum__bands_sides *sides, unsigned side,
	struct thrum__bands_pair pair)
{
	return pair.index[side] == THRUM__NONE
		? NULL
		: &sides->bands[side]->all->family.groups[pair.index[side]];
}

/* Sets the classes and heights of a band. It reaches from the duration that 99 % of the lines reach,
 * down to a quarter of a decade, to the longest one, up to that; at least one decade. */
static void measure_band(const struct thrum__bands_sides *sides, struct thrum__bands_pair pair,
	bool is_large, const struct thrum__bands_decade *measure,
	struct thrum__scene_bands_place *place)
{
	const unsigned decade = THRUM__BANDS_DECADE, quarter = decade / 4;
	unsigned classes = is_large ? measure->classes : measure->classes / 2;
	unsigned per = decade / classes, step = per > quarter ? per : quarter, end;
	int64_t low = INT64_MAX, longest = 1;
	float needed;

	for (unsigned i = 0; i < sides->count; i++) {
		const struct thrum__group *group = group_of(sides, i, pair);

		if (!group)
			continue;
		low = group->low < low ? group->low : low;
		longest = group->longest > longest ? group->longest : longest;
	}
	place->class = thrum__bands_class(low) / step * step;
	end = (thrum__bands_class(longest) / step + 1) * step;
	if (end < place->class + decade)
		end = place->class + decade;
	place->per = per;
	place->rows = (end - place->class) / per;
	place->row_height = measure->height;
	needed = (float)place->rows * measure->height;
	place->base = needed > LEAST ? needed : LEAST;
	place->height = place->base + SPACE;
}

/* Returns how far the band of a group or queue is opened. */
int thrum__bands_is_opened(const struct thrum__bands_sides *sides, unsigned side, uint32_t group)
{
	const struct thrum__scene_bands *bands = sides->bands[side];
	char name[THRUM__NAME_MAX];

	if (bands->shown.opened_count == 0)
		return 0;
	thrum__scene_bands_group_name(bands->all, group, name);
	return thrum__scene_bands_opened(&bands->shown, name);
}

/* Sets the rows and the height of an opened band. */
static void measure_opened(const struct thrum__bands_sides *sides, struct thrum__bands_pair pair,
	int opened, struct thrum__scene_bands_place *place)
{
	uint32_t most = thrum__bands_opened_rows(opened), lines = 0;

	for (unsigned i = 0; i < sides->count; i++) {
		const struct thrum__group *group = group_of(sides, i, pair);

		lines = group && group->lines > lines ? group->lines : lines;
	}
	place->rows = lines < most ? lines : most;
	place->height = THRUM__OPENED_HEAD + SPACE +
		THRUM__OPENED_ROW * (float)(place->rows + (lines > most));
}

/* Returns the place of a group, without y. */
struct thrum__scene_bands_place thrum__bands_measure_group(const struct thrum__bands_sides *sides,
	struct thrum__bands_pair pair, const struct thrum__bands_decade *measure)
{
	unsigned side = thrum__bands_side_of(pair);
	const struct thrum__group *group = group_of(sides, side, pair);
	bool is_sorted = sides->bands[0]->shown.sort != THRUM__SORT_TREE;
	struct thrum__scene_bands_place place = {
		.kind = THRUM__PLACE_BAND,
		.depth = is_sorted || sides->above > 0 ? 0 : (uint8_t)group->depth,
	};
	int opened = thrum__bands_is_opened(sides, side, pair.index[side]);

	if (opened) {
		place.kind = THRUM__PLACE_OPENED;
		measure_opened(sides, pair, opened, &place);
	} else if (group->size == THRUM__GROUP_SMALL) {
		place.kind = THRUM__PLACE_SMALL;
		place.base = SMALL - SPACE;
		place.height = SMALL;
	} else {
		measure_band(sides, pair, group->size == THRUM__GROUP_LARGE, measure, &place);
	}
	return place;
}

/* ---- Which bands --------------------------------------------------------------------------- */

/* Returns the group of the other side that has the name and kind of this one, and lines. */
static uint32_t same_group(const struct thrum__bands_sides *sides, unsigned side, uint32_t index)
{
	const struct thrum__family *family = &sides->bands[side]->all->family;
	const struct thrum__bands *other = sides->bands[1 - side]->all;
	char name[THRUM__NAME_MAX], words[THRUM__NAME_MAX];

	thrum__scene_bands_group_name(sides->bands[side]->all, index, name);
	for (uint32_t i = 0; i < other->family.group_count; i++) {
		const struct thrum__group *group = &other->family.groups[i];

		if (group->lines == 0 || group->kind != family->groups[index].kind)
			continue;
		thrum__scene_bands_group_name(other, i, words);
		if (strcmp(name, words) == 0)
			return i;
	}
	return THRUM__NONE;
}

/* The value by which a group is sorted, in the whole trace. */
static double sort_value(const struct thrum__bands_sides *sides, struct thrum__bands_pair pair)
{
	unsigned side = thrum__bands_side_of(pair);
	const struct thrum__bands *bands = sides->bands[side]->all;
	struct thrum__bands_numbers n;

	thrum__bands_numbers(bands, pair.index[side],
		&(struct thrum__bands_time){{bands->from, 0}, {bands->to, 0}}, &n);
	switch (sides->bands[0]->shown.sort) {
	case THRUM__SORT_RATE: return n.ended;
	case THRUM__SORT_MEDIAN: return (double)n.half;
	case THRUM__SORT_P99: return (double)n.slow;
	default: return n.failed;
	}
}

/* Sorts some pairs by the number of the state, the greatest first; equal ones stay in order. */
static void sort_pairs(const struct thrum__bands_sides *sides, struct thrum__bands_pair *pairs,
	uint32_t count)
{
	double values[2 * THRUM__FAMILY_BANDS];

	if (sides->bands[0]->shown.sort == THRUM__SORT_TREE)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct thrum__bands_pair pair = pairs[i];
		double value = sort_value(sides, pair);
		uint32_t at = i;

		for (; at > 0 && values[at - 1] < value; at--) {
			values[at] = values[at - 1];
			pairs[at] = pairs[at - 1];
		}
		values[at] = value;
		pairs[at] = pair;
	}
}

/* Adds the shown groups of a side: those that the other side has, too, or those that it lacks. */
static void choose_side(const struct thrum__bands_sides *sides, unsigned side, bool alone,
	struct thrum__bands_chosen *chosen)
{
	const struct thrum__family *family = &sides->bands[side]->all->family;
	uint32_t first = chosen->count;

	for (uint32_t i = 0; i < family->shown_count; i++) {
		struct thrum__bands_pair pair = {{THRUM__NONE, THRUM__NONE}};

		pair.index[side] = family->shown[i];
		if (sides->count > 1)
			pair.index[1 - side] = same_group(sides, side, family->shown[i]);
		if (sides->count == 1 || (pair.index[1 - side] == THRUM__NONE) == alone)
			chosen->pairs[chosen->count++] = pair;
	}
	sort_pairs(sides, &chosen->pairs[first], chosen->count - first);
}

void thrum__bands_choose(const struct thrum__bands_sides *sides, struct thrum__bands_chosen *chosen)
{
	chosen->count = 0;
	choose_side(sides, 0, false, chosen);
	chosen->both = chosen->count;
	for (unsigned side = 0; sides->count > 1 && side < sides->count; side++)
		choose_side(sides, side, true, chosen);
}

const struct thrum__bands_decade *thrum__bands_choose_measure(const struct thrum__bands_sides
								      *sides,
	const struct thrum__bands_chosen *chosen, float room)
{
	for (size_t i = 0; i < MEASURES; i++) {
		float all = 0;

		for (uint32_t k = 0; k < chosen->count; k++) {
			struct thrum__bands_pair pair = chosen->pairs[k];
			float halves = pair.index[0] != THRUM__NONE && pair.index[1] != THRUM__NONE
				? 2
				: 1;

			all += sides->above +
				halves *
					thrum__bands_measure_group(sides, pair, &measures[i])
						.height;
		}
		if (all <= room)
			return &measures[i];
	}
	return &measures[SCROLLS];
}
