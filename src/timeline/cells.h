/* SPDX-License-Identifier: ISC */
/*
 * Columns by task, of what others note beside the model. In blocks as the model's: what is
 * forgotten is dropped a block at a time, though a task of an older block stays for ever. Internal
 * to this room.
 */
#ifndef TIMELINE_CELLS_H
#define TIMELINE_CELLS_H

#include "model/model.h"

struct thrum__timeline_cells {
	uint32_t **block;
	uint32_t *kept; /* numbers of the blocks that are there, in order */
	uint32_t room, kept_count, kept_room;
	uint32_t width; /* numbers a task */
};

/* A task's numbers; NULL: its block isn't there. */
static inline uint32_t *thrum__timeline_cell(const struct thrum__timeline_cells *cells,
	uint32_t task)
{
	uint32_t number = task >> THRUM__BLOCK_SHIFT;

	return number < cells->room && cells->block[number]
		? &cells->block[number][(size_t)(task & THRUM__BLOCK_MASK) * cells->width]
		: NULL;
}

/* Makes the blocks of the model's tasks from `first` on, all NONE. 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__timeline_cells_follow(struct thrum__timeline_cells *,
	const struct thrum__model *, uint32_t first);
/* Drops the blocks that the model has forgotten. */
void thrum__timeline_cells_forget(struct thrum__timeline_cells *, const struct thrum__model *);
void thrum__timeline_cells_finish(struct thrum__timeline_cells *);
size_t thrum__timeline_cells_memory(const struct thrum__timeline_cells *);

#endif
