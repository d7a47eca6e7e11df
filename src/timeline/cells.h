/* SPDX-License-Identifier: ISC */
/*
 * Cells: a few numbers for each task, noted beside the model. They lie in blocks like the model's
 * rows. Forgotten tasks go a block at a time; an old block stays as long as one of its tasks does,
 * maybe for ever. Private to timeline/.
 */
#ifndef TIMELINE_CELLS_H
#define TIMELINE_CELLS_H

#include "model/model.h"

struct thrum__timeline_cells {
	uint32_t **block;
	uint32_t *kept; /* the numbers of the blocks that are there, ascending */
	uint32_t room, kept_count, kept_room;
	uint32_t width; /* how many numbers a task has; set before use */
};

/* Returns a task's numbers; NULL when its block isn't there. */
static inline uint32_t *thrum__timeline_cell(const struct thrum__timeline_cells *cells,
	uint32_t task)
{
	uint32_t number = task >> THRUM__BLOCK_SHIFT;

	return number < cells->room && cells->block[number]
		? &cells->block[number][(size_t)(task & THRUM__BLOCK_MASK) * cells->width]
		: NULL;
}

/* Makes the blocks of the model's tasks from `first` on that aren't there, filled with NONE.
 * Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__timeline_cells_follow(struct thrum__timeline_cells *,
	const struct thrum__model *, uint32_t first);
/* Drops the blocks that the model has forgotten. */
void thrum__timeline_cells_forget(struct thrum__timeline_cells *, const struct thrum__model *);
/* Frees the cells' memory. */
void thrum__timeline_cells_finish(struct thrum__timeline_cells *);
/* Returns about how many bytes the cells have allocated. */
size_t thrum__timeline_cells_memory(const struct thrum__timeline_cells *);

#endif
