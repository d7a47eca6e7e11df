/* SPDX-License-Identifier: ISC */
/* Tells whether a task is at work, or somebody is for it: then it needs nothing but time. */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/excuses/excuses.h"

#define LOOK_BACK 1024      /* edges of a task that are searched, from the latest back */
#define LONG_RUN 1000000000 /* ns; a longer run is suspicious */
#define LATE 10 /* so many times as old as its peers became, a thread's run is suspicious */

/* Whether the run of a task, which isn't a thread's own, is interrupted by a rest of its thread: not for
 * long. */
static bool is_resting(const struct thrum__model *model, uint32_t task)
{
	uint32_t lane = thrum__why_last_lane(model, task), row;

	if (lane == THRUM__NONE || model->lanes[lane].running != task ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD)
		return false;
	row = thrum__why_resting(model, &model->lanes[lane]);
	return row != THRUM__NONE && model->end - THRUM__SUSPENSION(model, row, start) < LONG_RUN;
}

bool thrum__why_is_at_work(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	/* A thread that computes with a lock, as it seems. */
	if (thrum__analyse_task_is_lane(model, task))
		return thrum__why_is_busy(search, task) &&
			model->end - THRUM__TASK(model, task, last) < LONG_RUN;
	if (!thrum__analyse_task_is_running(model, task))
		return is_resting(model, task);
	return model->end - THRUM__RUN(model, THRUM__TASK(model, task, run), start) < LONG_RUN ||
		(THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
			thrum__why_peers_lateness(&search->peers, task) < LATE);
}

bool thrum__why_is_answering(const struct thrum__search *search, uint32_t request)
{
	const struct thrum__model *model = search->model;

	THRUM__EDGES_FROM (model, request, edge, LOOK_BACK) {
		uint32_t task = thrum__why_heir_of(model, THRUM__EDGE(model, edge, to));

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK && task != THRUM__NONE &&
			thrum__analyse_task_is_pending(model, task) &&
			thrum__why_is_at_work(search, task))
			return true;
	}
	return false;
}

bool thrum__why_is_busy(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_last_lane(model, task);

	return thrum__analyse_task_is_pending(model, task) && lane != THRUM__NONE &&
		model->lanes[lane].suspended == THRUM__NONE &&
		thrum__analyse_graph_waits(&search->graph, task).count == 0;
}
