/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a stream or mailbox may be served by a task that rests until a time which is still to come.
 * It made those that served it so far; or a thread served it before its loop began, and then made that task.
 */
#include "analyse/why/excuses/excuses.h"
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */

/* Whether an edge to an object tells that somebody put an item in, or took one. */
static bool is_service(const struct thrum__model *model, uint32_t edge)
{
	return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL ||
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ;
}

/* Whether a task made one that served an object and has ended, or is what a thread made that had served the
 * object before. */
static bool is_maker(const struct thrum__model *model, uint32_t object, uint32_t task)
{
	uint32_t own = THRUM__TASK(model, task, creator);

	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		uint32_t server = thrum__why_actor(model, edge), maker;

		if (!is_service(model, edge) || !thrum__model_has_row(&model->tasks, server))
			continue;
		if (thrum__analyse_task_is_lane(model, server)) {
			if (server == own &&
				THRUM__TASK(model, task, created) >= THRUM__EDGE(model, edge, time))
				return true;
			continue;
		}
		maker = thrum__why_heir_of(model, THRUM__TASK(model, server, creator));
		if (maker == task && !thrum__analyse_task_is_pending(model, server))
			return true;
	}
	return false;
}

bool thrum__why_may_be_made(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	int kind = THRUM__TASK(model, path->leaf, kind);

	if (kind != THRUM_KIND_STREAM && kind != THRUM_KIND_MAILBOX)
		return false;
	THRUM__WHY_EACH (search, timer, THRUM__SORT_OUTSIDE) {
		uint32_t task;

		if (THRUM__TASK(model, timer, kind) != THRUM_KIND_TIMER ||
			!thrum__analyse_task_is_pending(model, timer) ||
			thrum__why_due_of(model, timer) <= model->end ||
			!thrum__why_is_running_timer(search, timer))
			continue;
		task = thrum__why_heir_of(model, thrum__why_peers_waiter(model, timer));
		if (task != THRUM__NONE && thrum__analyse_task_is_pending(model, task) &&
			!thrum__analyse_task_is_choice(model, task) &&
			is_maker(model, path->leaf, task))
			return true;
	}
	return false;
}
