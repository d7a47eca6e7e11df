/* SPDX-License-Identifier: ISC */
/*
 * Tells whether somebody else may give back the permits of tasks that have ended. Each of these told another
 * one to go on, as one who hands a job on, and the permit with it; and that one is still at work.
 */
#include "analyse/why/excuses/excuses.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */

/* Whether a task's last act on an object was to take something there. */
static bool has_taken(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK)
		if (THRUM__EDGE(model, edge, to) == object)
			return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ;
	return false;
}

/* Whether somebody outside may end a wait, or a time that is still to come. */
static bool may_end(const struct thrum__search *search, uint32_t on)
{
	switch (THRUM__TASK(search->model, on, kind)) {
	case THRUM_KIND_REQUEST: return thrum__analyse_task_is_pending(search->model, on);
	case THRUM_KIND_TIMER: return thrum__why_is_running_timer(search, on);
	default: return thrum__why_call_may_end(search, on);
	}
}

/* Whether a task goes on by itself: it computes, or its wait may yet end. */
static bool is_working(const struct thrum__search *search, uint32_t task)
{
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, task);

	return waits.count == 0 ? thrum__why_is_at_work(search, task)
				: may_end(search, waits.waits[0].on);
}

/* Whether one of those who take from an object is at work on what it took. */
static bool has_working_taker(const struct thrum__search *search, uint32_t object)
{
	const struct thrum__model *model = search->model;

	THRUM__ACTS_ON (model, object, edge, LOOK_BACK, THRUM__EDGE_READ) {
		uint32_t task = thrum__why_actor(model, edge);

		if (task != THRUM__NONE && thrum__analyse_task_is_pending(model, task) &&
			has_taken(model, task, object) && is_working(search, task))
			return true;
	}
	return false;
}

/* Whether a task that has a permit has ended, and put something into another object before, whose taker is at
 * work. */
static bool has_passed(const struct thrum__search *search, uint32_t task, uint32_t semaphore)
{
	const struct thrum__model *model = search->model;
	uint32_t edge;

	if (!thrum__model_has_row(&model->tasks, task) ||
		thrum__analyse_task_is_pending(model, task))
		return false;
	edge = THRUM__TASK(model, task, edge_out);
	THRUM__EDGES_OF (model, edge, prev_out, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (to != semaphore && thrum__model_has_row(&model->tasks, to) &&
			has_working_taker(search, to))
			return true;
	}
	return false;
}

bool thrum__why_may_be_passed(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);

	if (!lock || THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_SEMAPHORE)
		return false;
	for (uint32_t i = 0; i < lock->count; i++)
		if (has_passed(search, lock->holds[i].task, path->leaf))
			return true;
	return false;
}
