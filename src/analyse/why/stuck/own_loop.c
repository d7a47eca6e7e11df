/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a callback waits for what only its own loop may do next: another task is ready since the
 * callback began, and no thread is left that could run it but the loop's.
 */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/stuck/stuck.h"

/* Whether a task is one that loops run, and waits for nothing but its turn. */
static bool is_of_loop(const struct thrum__search *search, uint32_t task)
{
	int kind = THRUM__TASK(search->model, task, kind);

	return (kind == THRUM_KIND_HANDLE || kind == THRUM_KIND_TIMER ||
		       kind == THRUM_KIND_REQUEST) &&
		thrum__why_is_said_ready(search->model, task) &&
		thrum__analyse_graph_waits(&search->graph, task).count == 0;
}

/* The task of a loop that was made ready last since a time, and hasn't run since; NONE: there is none, or
 * there are too many tasks to tell. */
static uint32_t last_ready(struct thrum__search *search, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t last = THRUM__NONE;
	int64_t latest = since;

	THRUM__EACH_TASK (model, task) {
		int64_t time;

		if (search->budget == 0)
			return THRUM__NONE;
		search->budget--;
		if (!thrum__analyse_task_is_pending(model, task) || !is_of_loop(search, task))
			continue;
		time = THRUM__EDGE(model, thrum__why_edge_to(model, task, THRUM__EDGE_READY), time);
		if (time > latest) {
			latest = time;
			last = task;
		}
	}
	return last;
}

/* Whether a lane alone is blocked by a task that it runs: so what is ready isn't left to another one. */
static bool is_only_blocked(const struct thrum__search *search, uint32_t number)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t blocker = thrum__why_blocker_of(search, i);

		if (blocker != THRUM__NONE && !thrum__analyse_task_is_lane(model, blocker) &&
			THRUM__TASK(model, blocker, kind) != THRUM_KIND_THREAD && i != number)
			return false;
	}
	return true;
}

uint32_t thrum__why_own_turn(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t lane = last && !last->is_served ? thrum__why_last_lane(model, last->task)
						 : THRUM__NONE;

	if (lane == THRUM__NONE || path->circle != THRUM__NONE ||
		thrum__analyse_task_is_lane(model, last->task) ||
		!thrum__why_is_untouched(model, path->leaf) ||
		thrum__why_blocker_of(search, lane) != last->task ||
		!is_only_blocked(search, lane) ||
		!thrum__why_all_look(search, last->task, last->wait.since))
		return THRUM__NONE;
	return last_ready(search, THRUM__RUN(model, THRUM__TASK(model, last->task, run), start));
}
