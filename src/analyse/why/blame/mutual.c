/* SPDX-License-Identifier: ISC */
/*
 * Tells who may be to signal a condition that nobody ever signalled, if all threads wait: one of them
 * would have to, and the only one that can is one that waits for a condition itself.
 */
#include "analyse/why/blame/blame.h"
#include "analyse/why/deadlock/lanes.h"

#define HOPS 4 /* waits that are followed to a task with a name */

/* The last wait of a lane's task; NULL: it isn't the last that the task did, or it may be over by itself, for
 * something outside of the program or by its time limit. */
static const struct thrum__analyse_wait *wait_of(const struct thrum__search *search, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__why_task_of_lane(&model->lanes[lane]);
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

	return wait && !wait->is_link && thrum__model_last_edge(model, task) == wait->edge &&
			!thrum__why_is_outside(model, wait->on) &&
			thrum__why_timed_task(model, lane) == THRUM__NONE
		? wait
		: NULL;
}

/* The lane of the task that may be to signal a condition, as all threads wait and it for another one:
 * the only such task, or the only one that shares a word with the condition. If there is no such task, the
 * only one that waits for the condition, too, and isn't like the waiter. NONE: there is none. */
static uint32_t signaller_of(const struct thrum__search *search, uint32_t condition,
	uint32_t waiter)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE, too = THRUM__NONE, count[2] = {0}, waiters = 0;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t task = thrum__why_task_of_lane(&model->lanes[i]);
		const struct thrum__analyse_wait *wait;
		bool is_named;

		if (!thrum__analyse_task_is_pending(model, model->lanes[i].task))
			continue;
		wait = wait_of(search, i);
		if (!wait)
			return THRUM__NONE;
		if (THRUM__TASK(model, wait->on, kind) != THRUM_KIND_CONDITION ||
			!*thrum__model_task_name(model, task, NULL))
			continue;
		if (wait->on == condition) {
			waiters += task != waiter;
			if (task != waiter && !thrum__why_is_alike(search, task, waiter))
				too = i;
			continue;
		}
		is_named = thrum__why_shares_word(model, task, condition);
		count[is_named]++;
		if (is_named || count[1] == 0)
			found = i;
	}
	if (count[0] + count[1] == 0 && waiters == 1)
		return too;
	return count[1] == 1 || (count[1] == 0 && count[0] == 1) ? found : THRUM__NONE;
}

/* The wait of a task that no thread blocks in, for another condition that nobody ever signalled: so a task
 * hangs there, too. NULL: there is none, or they wait for different ones. */
static const struct thrum__analyse_list *other_wait(const struct thrum__search *search,
	uint32_t condition)
{
	const struct thrum__analyse_graph *graph = &search->graph;
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_list *found = NULL;
	uint32_t other = THRUM__NONE;

	for (uint32_t i = 1; i <= graph->list_count; i++) {
		const struct thrum__analyse_list *list = &graph->lists[i];
		uint32_t on = graph->waits[list->first].on;
		struct thrum__why_servers servers;

		if (list->count != 1 || on == condition || on == other ||
			THRUM__TASK(model, on, kind) != THRUM_KIND_CONDITION ||
			thrum__analyse_task_is_lane(model, list->task) ||
			!thrum__analyse_task_is_pending(model, list->task))
			continue;
		thrum__why_servers_of(model, on, list->task, &servers);
		if (servers.count > 0 || !servers.is_whole)
			continue;
		if (found)
			return NULL;
		found = list;
		other = on;
	}
	return found;
}

/* Returns the first task with a name among one and those that wait for it, one after the other. */
static uint32_t named_waiter(const struct thrum__model *model, uint32_t task)
{
	for (int i = 0; i < HOPS && !*thrum__model_task_name(model, task, NULL); i++) {
		uint32_t waiter = thrum__why_actor_to(model, task, THRUM__EDGE_WAIT);

		if (waiter == THRUM__NONE)
			break;
		task = waiter;
	}
	return task;
}

/* Adds a step for a task that hangs elsewhere, if one does: it may be to signal the condition. */
static void add_other(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t condition)
{
	const struct thrum__analyse_list *list = other_wait(search, condition);
	const struct thrum__analyse_wait *wait;

	if (!list)
		return;
	wait = &search->graph.waits[list->first];
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, named_waiter(search->model, list->task),
		wait->on, wait->since, wait->edge);
}

void thrum__why_add_mutual(struct thrum__finding *finding, struct thrum__search *search,
	uint32_t condition, uint32_t waiter)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = signaller_of(search, condition, waiter), task;
	const struct thrum__analyse_wait *wait;
	struct thrum__why_servers servers;

	if (lane == THRUM__NONE) {
		add_other(finding, search, condition);
		return;
	}
	task = thrum__why_task_of_lane(&model->lanes[lane]);
	wait = wait_of(search, lane);
	if (wait->on != condition)
		thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, wait->on, wait->since,
			wait->edge);
	thrum__why_add_step(finding, THRUM__STEP_MAY_SIGNAL, task, condition, wait->since,
		THRUM__NONE);
	if (wait->on == condition)
		return;
	thrum__why_servers_of(model, wait->on, task, &servers);
	/* Nobody will signal that one either: so who waits for it belongs to this finding. */
	if (servers.count == 0 && servers.is_whole &&
		THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE &&
		*thrum__cause(search, wait->on) == THRUM__NONE)
		search->joined = wait->on;
}
