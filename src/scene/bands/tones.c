/* SPDX-License-Identifier: ISC */
/* The tones of cells: how many lines each stands for, chosen from the whole trace. */
#include <stdlib.h>

#include "base/array.h"
#include "scene/bands/bands.h"

#define TONE_THIRD 4 /* lines in a cell, at least, from which on it has the third tone */
#define TONE_FOURTH 12

/* Returns the nearest of 1, 2, 5 × 10ⁿ, by ratio. */
static uint32_t round_number(uint32_t number)
{
	static const uint32_t steps[] = {1, 2, 5, 10};
	uint32_t power = 1;

	while (number / power >= 10)
		power *= 10;
	for (size_t i = 0; i + 1 < sizeof steps / sizeof *steps; i++) {
		uint64_t low = steps[i] * (uint64_t)power, high = steps[i + 1] * (uint64_t)power;

		/* Below the geometric mean of the two. */
		if ((uint64_t)number * number < low * high)
			return (uint32_t)low;
	}
	return 10 * power;
}

static int compare_counts(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

/* Sets the tones from how many lines 90 % of the cells with lines have at most, in the whole
 * trace. Returns 0 or -THRUM_E_MEMORY. */
static int set_tones(struct thrum__scene_bands *bands, const struct thrum__scene_time_axis *whole)
{
	uint32_t *counts = NULL, count = 0, room = 0, most = 0;

	if (thrum__scene_bands_set_window(bands, whole) < 0)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &bands->places[i];

		for (unsigned row = 0; place->kind == THRUM__PLACE_BAND && row < place->rows;
			row++) {
			uint32_t columns = bands->window.columns;
			uint32_t *grown = thrum__base_grow(counts, &room, (uint64_t)count + columns,
				sizeof *counts);

			if (!grown) {
				free(counts);
				return -THRUM_E_MEMORY;
			}
			counts = grown;
			thrum__bands_cells(bands->all, place->index,
				place->class + row * place->per, place->per, &bands->window,
				bands->cells);
			for (uint32_t k = 0; k < columns; k++)
				if (bands->cells[k].lines > 0)
					counts[count++] = bands->cells[k].lines;
		}
	}
	if (count > 0) {
		qsort(counts, count, sizeof *counts, compare_counts);
		most = counts[(uint64_t)count * 9 / 10];
	}
	free(counts);
	bands->tones[0] = most / 5 <= TONE_THIRD ? TONE_THIRD : round_number(most / 5);
	bands->tones[1] = most <= TONE_FOURTH ? TONE_FOURTH : round_number(most);
	return 0;
}

/* Makes the axis of the whole trace, without folds. */
static int set_whole_axis(const struct thrum__scene *scene, struct thrum__scene_time_axis *axis,
	float width)
{
	struct thrum__scene_fold_rule rule = {0};

	thrum__scene_time_axis_init(axis);
	return thrum__scene_time_axis_set(axis, scene->index, scene->bands->all->from,
		scene->bands->all->to, thrum__scene_bands_left(width),
		thrum__scene_bands_right(width), &rule);
}

int thrum__scene_bands_set_tones(struct thrum__scene *const *scenes, unsigned count, float width)
{
	struct thrum__scene_time_axis whole;
	int status = 0;

	for (unsigned i = 0; i < count && status == 0; i++) {
		status = set_whole_axis(scenes[i], &whole, width);
		if (status == 0)
			status = set_tones(scenes[i]->bands, &whole);
		thrum__scene_time_axis_finish(&whole);
	}
	for (int i = 0; count > 1 && i < 2; i++) {
		uint32_t *tones[] = {&scenes[0]->bands->tones[i], &scenes[1]->bands->tones[i]};

		*tones[0] = *tones[1] = *tones[0] > *tones[1] ? *tones[0] : *tones[1];
	}
	return status;
}
