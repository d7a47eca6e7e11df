/* SPDX-License-Identifier: ISC */
#include "analyse/places.h"

#include <stdlib.h>

int thrum__analyse_places_make(const struct thrum__model *model, struct thrum__places *places)
{
	const struct thrum__model_rows *tasks = &model->tasks;
	uint32_t *first = calloc((size_t)tasks->blocks + 1, sizeof *first), count = 1;

	if (!first)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < tasks->blocks; i++) {
		if (!tasks->block[i])
			continue;
		first[i] = count;
		count += THRUM__BLOCK;
	}
	*places = (struct thrum__places){first, tasks->blocks, count};
	return 0;
}

void thrum__analyse_places_free(struct thrum__places *places)
{
	free(places->first);
	*places = (struct thrum__places){0};
}
