/* SPDX-License-Identifier: ISC */
/* Tells who holds the locks on a path, or may hold them. */
#include "analyse/why/objects/objects.h"
#include "base/time.h"

#define HOPS 6         /* waits that are followed from a task that may hold a lock */
#define SUSPECTS_MAX 8 /* that may hold a lock: more tell nothing */
#define SUSPECTS_TOLD 2
#define LOOK_BACK 256 /* edges that are searched for releases */
#define RELEASES_MIN 8
#define NO_TIME 1000 /* ns: too little to begin, to take a lock and to lose the event */

/* Whether a task that waits may hold a lock: it may have taken it when events were lost, and doesn't
 * wait for it, nor for one that does. */
static bool may_hold(const struct thrum__search *search, uint32_t task, uint32_t lock,
	int64_t before)
{
	const struct thrum__model *model = search->model;

	if (THRUM__TASK(model, task, created) > before ||
		THRUM__TASK(model, task, created) > search->gap ||
		!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_task_is_lane(model, task) ||
		!*thrum__model_task_name(model, task, NULL))
		return false;
	for (int i = 0; i < HOPS; i++) {
		const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

		if (!wait)
			return true;
		if (wait->on == lock)
			return false;
		task = wait->on;
	}
	return true;
}

/* Whether the only wait of a task began so soon after its creation that it has taken nothing before. The
 * table of live tasks doesn't tell that: the events between are overwritten. */
static bool had_no_time(const struct thrum__analyse_graph *graph,
	const struct thrum__analyse_list *list)
{
	const struct thrum__model *model = graph->model;
	const struct thrum__analyse_wait *wait = &graph->waits[list->first];

	return list->count == 1 && !wait->is_stale &&
		!(THRUM__TASK(model, list->task, flags) &
			(THRUM__TASK_PREEXISTING | THRUM__TASK_REMEMBERED)) &&
		thrum__base_time_between(THRUM__TASK(model, list->task, created), wait->since) <
		NO_TIME;
}

/* Adds steps for the oldest of those that may hold a lock, if there are few: they wait, too, but for
 * something else. */
static void add_suspects(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__analyse_graph *graph = &search->graph;
	uint32_t found[SUSPECTS_MAX], count = 0;
	int64_t before = thrum__why_path_last(path)->wait.since;

	for (uint32_t i = 1; i <= graph->list_count; i++) {
		uint32_t task = graph->lists[i].task;

		if (thrum__analyse_task_is_object(search->model, task) ||
			had_no_time(graph, &graph->lists[i]) ||
			!may_hold(search, task, path->leaf, before))
			continue;
		if (count == SUSPECTS_MAX)
			return;
		found[count++] = task;
	}
	for (uint32_t i = 0; i < count && i < SUSPECTS_TOLD; i++) {
		struct thrum__step *step = thrum__why_add_step(finding, THRUM__STEP_MAY_HOLD,
			found[i], path->leaf, THRUM__TASK(search->model, found[i], created),
			THRUM__NONE);

		if (i + 1 == SUSPECTS_TOLD)
			thrum__why_set_more(step, count - SUSPECTS_TOLD);
	}
}

/* Whether a lock is held, and all that hold it have ended. */
static bool are_holders_over(const struct thrum__model *model,
	const struct thrum__analyse_lock *lock)
{
	for (uint32_t i = 0; lock && i < lock->count; i++)
		if (thrum__analyse_task_is_pending(model, lock->holds[i].task))
			return false;
	return lock && lock->count > 0;
}

/* Whether each of the latest releases of a lock was made by a task that went on, and is no thread. */
static bool is_released_in_time(const struct thrum__model *model, uint32_t lock)
{
	uint32_t releases = 0;

	THRUM__ACTS_ON (model, lock, edge, LOOK_BACK, THRUM__EDGE_UNLOCK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (!thrum__model_has_row(&model->tasks, from) ||
			THRUM__TASK(model, from, kind) == THRUM_KIND_THREAD ||
			THRUM__TASK(model, from, end) < THRUM__EDGE(model, edge, time))
			return false;
		releases++;
	}
	return releases >= RELEASES_MIN;
}

bool thrum__why_is_lock_lost(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph, task);

	return lock && are_holders_over(search->model, lock) && lock->strange == 0 &&
		lock->beyond == 0 && lock->given == 0 && !lock->is_cut &&
		is_released_in_time(search->model, task);
}

void thrum__why_add_lock(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);
	uint32_t edge = THRUM__TASK(model, path->leaf, edge_in), last = THRUM__NONE;
	int64_t since = thrum__why_path_last(path)->wait.since;

	for (; thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) > since;
		edge = THRUM__EDGE(model, edge, prev_in)) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (last == THRUM__NONE && (kind == THRUM__EDGE_UNLOCK || kind == THRUM__EDGE_LOCK))
			last = edge;
		finding->count += kind == THRUM__EDGE_LOCK;
	}
	if (are_holders_over(model, lock)) {
		finding->count = 0;
		thrum__why_add_failed_holder(finding, model, lock);
	}
	if (lock && lock->count > 0 && finding->count <= lock->count)
		thrum__why_add_holders(search, finding, path->leaf, THRUM__NONE);
	else if (last != THRUM__NONE)
		thrum__why_add_at(finding, model, THRUM__STEP_FREE, path->leaf,
			thrum__why_known(model, THRUM__EDGE(model, last, from)), last);
	else
		add_suspects(finding, search, path);
}

void thrum__why_add_held(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t task)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < search->graph.lock_count; i++) {
		const struct thrum__analyse_lock *lock = &search->graph.locks[i];
		uint32_t edge = THRUM__NONE, waiter;

		for (uint32_t k = 0; k < lock->count; k++)
			if (lock->holds[k].task == task)
				edge = lock->holds[k].edge;
		if (edge == THRUM__NONE)
			continue;
		thrum__why_add_at(finding, model, THRUM__STEP_HOLDS, task, lock->task, edge);
		edge = thrum__why_edge_to(model, lock->task, THRUM__EDGE_WAIT);
		waiter = thrum__why_actor(model, edge);
		if (thrum__analyse_task_is_pending(model, waiter) && waiter != task)
			thrum__why_add_at(finding, model, THRUM__STEP_BEHIND, waiter, lock->task,
				edge);
		return;
	}
}

bool thrum__why_is_freed(const struct thrum__model *model, uint32_t task, uint32_t semaphore)
{
	uint32_t edge;
	bool is_released = false;

	if (!thrum__model_has_row(&model->tasks, task) ||
		THRUM__TASK(model, semaphore, kind) != THRUM_KIND_SEMAPHORE)
		return false;
	edge = THRUM__TASK(model, task, edge_out);
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (THRUM__EDGE(model, edge, to) != semaphore)
			continue;
		if (is_released && kind == THRUM__EDGE_WAIT)
			return true;
		is_released = kind == THRUM__EDGE_UNLOCK;
	}
	return false;
}
