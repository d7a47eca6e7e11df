/* SPDX-License-Identifier: ISC */
/*
 * Places: a dense numbering of the tasks that a model still has. An array with an element for each
 * task is indexed by place, so that it takes no memory for tasks that were forgotten before.
 */
#ifndef ANALYSE_PLACES_H
#define ANALYSE_PLACES_H

#include "model/model.h"

struct thrum__places {
	uint32_t *first; /* by block of tasks: the place of its first task; 0: it is forgotten */
	uint32_t blocks, count;
};

/* Numbers the model's tasks. Returns 0 or -THRUM_E_MEMORY. Free with thrum__analyse_places_free. */
THRUM__MUST_USE int thrum__analyse_places_make(const struct thrum__model *, struct thrum__places *);
void thrum__analyse_places_free(struct thrum__places *);

/* The first task at or after `task` that the model has; model->tasks.count if there is none. */
static inline uint32_t thrum__analyse_next_task(const struct thrum__model *model, uint32_t task)
{
	if (task < model->tasks.first)
		task = model->tasks.first;
	while (task < model->tasks.count && !thrum__model_has_row(&model->tasks, task))
		task = (task | THRUM__BLOCK_MASK) + 1;
	return task < model->tasks.count ? task : model->tasks.count;
}

/* for (uint32_t task = …; …): all tasks that the model has, in the order in which they were created. */
#define THRUM__EACH_TASK(model, task) \
	for (uint32_t task = thrum__analyse_next_task(model, 0); task < (model)->tasks.count; \
		task = thrum__analyse_next_task(model, task + 1))

/* for (const struct thrum__lane *lane = …; …): all lanes of the model. */
#define THRUM__EACH_LANE(model, lane) \
	for (const struct thrum__lane *lane = (model)->lanes; \
		(uint32_t)(lane - (model)->lanes) < (model)->lane_count; lane++)

/* A task's place, from 1 to count - 1. 0 for a task without one, whatever its index. */
static inline uint32_t thrum__place(const struct thrum__places *places, uint32_t task)
{
	uint32_t block = task >> THRUM__BLOCK_SHIFT;

	return block < places->blocks && places->first[block]
		? places->first[block] + (task & THRUM__BLOCK_MASK)
		: 0;
}

#endif
