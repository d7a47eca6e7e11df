/* SPDX-License-Identifier: ISC */
/*
 * Tells who took the lock of a condition while others wait for that: it may have changed what they wait
 * for. A task that goes to wait for a condition releases its lock just before, which tells the lock.
 */
#include "analyse/why/stuck/stuck.h"
#include "base/time.h"

#define LOOK_BACK 1024  /* edges of a lock that are searched, from the latest back */
#define AT_ONCE 1000000 /* ns from the release of a lock to the wait */
#define TOLD 2

/* The lock that a task released to begin a wait, an edge; NONE if its act before was another one. */
static uint32_t lock_of(const struct thrum__model *model, uint32_t wait)
{
	uint32_t act = thrum__model_has_row(&model->edges, wait)
		? THRUM__EDGE(model, wait, prev_out)
		: THRUM__NONE;

	return thrum__model_has_row(&model->edges, act) &&
			THRUM__EDGE(model, act, kind) == THRUM__EDGE_UNLOCK &&
			thrum__base_time_between(THRUM__EDGE(model, act, time),
				THRUM__EDGE(model, wait, time)) < AT_ONCE
		? thrum__why_known(model, THRUM__EDGE(model, act, to))
		: THRUM__NONE;
}

/* Whether a task is to be told: it doesn't wait for the path's leaf itself, and has no step yet. */
static bool is_told(const struct thrum__search *search, const struct thrum__finding *finding,
	const struct thrum__why_path *path, uint32_t task)
{
	struct thrum__analyse_waits waits;

	if (!thrum__model_has_row(&search->model->tasks, task) ||
		task == thrum__why_path_last(path)->task ||
		!*thrum__model_task_name(search->model, task, NULL))
		return false;
	waits = thrum__analyse_graph_waits(&search->graph, task);
	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].task == task)
			return false;
	return waits.count == 0 || waits.waits[0].on != path->leaf;
}

bool thrum__why_add_takers(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *wait = &thrum__why_path_last(path)->wait;
	uint32_t lock = lock_of(model, wait->edge), told = 0;
	uint32_t edge = lock == THRUM__NONE ? lock : THRUM__TASK(model, lock, edge_in);

	for (unsigned i = 0;
		i < LOOK_BACK && told < TOLD && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) > wait->since;
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t task = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK ||
			!is_told(search, finding, path, task))
			continue;
		thrum__why_add_step(finding, THRUM__STEP_TAKES_LOCK, task, path->leaf,
			THRUM__EDGE(model, edge, time), edge);
		told++;
	}
	return told > 0;
}
