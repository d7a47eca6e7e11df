/* SPDX-License-Identifier: ISC */
/* Keeps cells in blocks like the model's. */
#include "timeline/cells.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/time.h"

static size_t block_size(const struct thrum__timeline_cells *cells)
{
	return (size_t)THRUM__BLOCK * cells->width * sizeof(uint32_t);
}

/* Makes a block that isn't there. */
static int reserve_block(struct thrum__timeline_cells *cells, uint32_t number)
{
	uint32_t room = cells->room;
	uint32_t **block = thrum__base_grow(cells->block, &room, number + 1ull, sizeof(*block));

	if (!block)
		return -THRUM_E_MEMORY;
	cells->block = block;
	for (; cells->room < room; cells->room++)
		block[cells->room] = NULL;
	if (block[number])
		return 0;
	uint32_t *kept = thrum__base_grow(cells->kept, &cells->kept_room, cells->kept_count + 1ull,
		sizeof(*kept));

	if (kept)
		cells->kept = kept;
	block[number] = kept ? malloc(block_size(cells)) : NULL;
	if (!block[number])
		return -THRUM_E_MEMORY;
	memset(block[number], 0xff, block_size(cells));
	kept[cells->kept_count++] = number;
	return 0;
}

int thrum__timeline_cells_follow(struct thrum__timeline_cells *cells,
	const struct thrum__model *model, uint32_t first)
{
	int error = 0;

	for (uint32_t i = first >> THRUM__BLOCK_SHIFT; i < model->tasks.blocks && !error; i++)
		if (model->tasks.block[i])
			error = reserve_block(cells, i);
	return error;
}

void thrum__timeline_cells_forget(struct thrum__timeline_cells *cells,
	const struct thrum__model *model)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < cells->kept_count; i++) {
		uint32_t number = cells->kept[i];

		if (model->tasks.block[number]) {
			cells->kept[count++] = number;
			continue;
		}
		free(cells->block[number]);
		cells->block[number] = NULL;
	}
	cells->kept_count = count;
}

void thrum__timeline_cells_finish(struct thrum__timeline_cells *cells)
{
	for (uint32_t i = 0; i < cells->kept_count; i++)
		free(cells->block[cells->kept[i]]);
	free(cells->block);
	free(cells->kept);
}

size_t thrum__timeline_cells_memory(const struct thrum__timeline_cells *cells)
{
	return cells->kept_count * block_size(cells) + cells->room * sizeof(*cells->block);
}
