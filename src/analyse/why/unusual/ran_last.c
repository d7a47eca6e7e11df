/* SPDX-License-Identifier: ISC */
/*
 * Tells which thread ran a task last, if those like it then went on in another thread: as in a pipeline,
 * where each thread hands its items on. If the task was made ready since, it was handed on.
 */
#include "analyse/why/unusual/unusual.h"

#define LIKE_MIN 3     /* so many that went on show that such tasks do */
#define LIKE_MOST 256  /* tasks like it that are looked at, from the latest back */
#define RUNS_BACK 1024 /* runs of a task, from the latest back */

/* Whether a task ran on a lane at some time, and then on others. Sets *stayed if its last run was there. */
static bool went_on(const struct thrum__model *model, uint32_t task, uint32_t lane, bool *stayed)
{
	uint32_t run = THRUM__TASK(model, task, run);

	for (int i = 0; i < RUNS_BACK && thrum__model_has_row(&model->runs, run);
		i++, run = THRUM__RUN(model, run, prev)) {
		if (THRUM__RUN(model, run, lane) != lane)
			continue;
		*stayed |= i == 0;
		return i > 0;
	}
	return false;
}

/* The lane on which a task ran last, if it was handed there by the one that made it, and not on from there;
 * or NONE. */
static uint32_t last_lane(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);
	uint32_t ready = thrum__why_edge_to(model, task, THRUM__EDGE_READY), lane;

	if (!thrum__model_has_row(&model->runs, run) || thrum__analyse_task_is_running(model, task))
		return THRUM__NONE;
	lane = THRUM__RUN(model, run, lane);
	return lane != THRUM__TASK(model, task, lane) &&
			(ready == THRUM__NONE ||
				THRUM__EDGE(model, ready, time) <= THRUM__RUN(model, run, start))
		? lane
		: THRUM__NONE;
}

uint32_t thrum__why_ran_last(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t lane, likes = 0, count = 0;
	bool stayed = false;

	lane = last_lane(model, task);
	if (search->gap >= 0 || lane >= model->lane_count)
		return THRUM__NONE;
	for (uint32_t at = model->tasks.count; likes < LIKE_MOST &&
		(at = thrum__why_resolved_like(search, task, at)) != THRUM__NONE;
		likes++)
		count += went_on(model, at, lane, &stayed);
	return count >= LIKE_MIN && !stayed && search->budget > 0 ? model->lanes[lane].task
								  : THRUM__NONE;
}
