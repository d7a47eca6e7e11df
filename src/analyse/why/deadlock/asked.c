/* SPDX-License-Identifier: ISC */
/*
 * Finds the task that a thread asked a loop to run, where the thread waits for that task's signal. It made
 * the task ready just before the wait, and tasks like that one gave all signals for which it waited there. If
 * it waits there for the first time, those count for which others waited there: threads that ask like it.
 */
#include "analyse/why/deadlock/lanes.h"

#define LOOK_BACK 256   /* edges that are searched, from the latest back */
#define PROOF 3         /* signals that came as expected */
#define TASKS_BACK 1024 /* tasks that are searched for those like the one that was made ready */

/* How many signals of a condition tasks like this one gave; -1: others gave one, too. */
static int signals_by(const struct thrum__search *search, uint32_t condition, uint32_t task,
	uint32_t waiter)
{
	const struct thrum__model *model = search->model;
	int count = 0;

	THRUM__EDGES_TO (model, condition, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL || from == waiter)
			continue;
		if (!thrum__model_has_row(&model->tasks, from) ||
			!thrum__why_are_peers(search, from, task))
			return -1;
		count++;
	}
	return count;
}

/* How many such signals ended the waiter's waits at this place of the program; -1: others gave some. */
static int proofs_of(const struct thrum__search *search, uint32_t waiter,
	const struct thrum__analyse_wait *wait, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = wait->edge, last = THRUM__NONE;
	int place = THRUM__EDGE(model, edge, value), all = 0;

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int count;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT || to == last ||
			THRUM__EDGE(model, edge, value) != place ||
			!thrum__model_has_row(&model->tasks, to) ||
			THRUM__TASK(model, to, kind) != THRUM_KIND_CONDITION)
			continue;
		count = signals_by(search, to, task, waiter);
		if (count < 0)
			return -1;
		last = to;
		all += count;
	}
	return all;
}

/* ---- Others that asked ---------------------------------------------------------------------- */

/* The condition that a task signalled last, NONE: none. */
static uint32_t signalled_by(const struct thrum__model *model, uint32_t task)
{
	uint32_t to = thrum__why_acted_on(model, task, THRUM__EDGE_SIGNAL);

	return thrum__why_is_condition(model, to) ? to : THRUM__NONE;
}

/* Whether a task waited for a condition at a place of the program. */
static bool has_waited_at(const struct thrum__model *model, uint32_t task, uint32_t condition,
	int place)
{
	THRUM__EDGES_TO (model, condition, edge, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, from) == task &&
			(int)THRUM__EDGE(model, edge, value) == place)
			return true;
	return false;
}

/* How many tasks like this one signalled a condition that its maker waited for at this place, or tore down
 * later: then it came before the wait. 0: another one that ended did something else, or nobody waited
 * there. */
static int proofs_by_likes(const struct thrum__search *search,
	const struct thrum__analyse_wait *wait, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int place = THRUM__EDGE(model, wait->edge, value), count = 0;
	bool has_waited = false;

	for (uint32_t i = task; i-- > model->tasks.first && task - i < TASKS_BACK;) {
		uint32_t on, maker;

		if (!thrum__model_has_row(&model->tasks, i) ||
			!thrum__why_are_peers(search, i, task) ||
			thrum__analyse_task_is_pending(model, i))
			continue;
		maker = THRUM__TASK(model, i, creator);
		on = signalled_by(model, i);
		if (on == THRUM__NONE || signals_by(search, on, task, maker) < 1)
			return 0;
		if (has_waited_at(model, maker, on, place))
			has_waited = true;
		else if (thrum__why_actor_to(model, on, THRUM__EDGE_RESOLVE) != maker)
			return 0;
		count++;
	}
	return has_waited ? count : 0;
}

uint32_t thrum__why_asked(const struct thrum__search *search,
	const struct thrum__analyse_list *list, bool *is_weak)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *wait = &search->graph.waits[list->first];
	uint32_t task;
	int proofs;

	if (list->count != 1 || wait->is_link ||
		THRUM__TASK(model, wait->on, kind) != THRUM_KIND_CONDITION ||
		THRUM__EDGE(model, wait->edge, value) == 0 ||
		THRUM__TASK(model, wait->on, flags) & THRUM__TASK_PREEXISTING ||
		THRUM__BEGINS_WITH(model, wait->on, "shared ") ||
		thrum__why_is_too_soon(model, model->end - wait->since, false))
		return THRUM__NONE;
	task = thrum__why_made_ready(model, wait);
	if (task == THRUM__NONE || !thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_task_is_lane(model, task) ||
		thrum__analyse_task_is_running(model, task) ||
		thrum__analyse_graph_waits(&search->graph, task).count > 0 ||
		!thrum__why_is_said_ready(model, task))
		return THRUM__NONE;
	proofs = proofs_of(search, list->task, wait, task);
	if (proofs == 0)
		proofs = proofs_by_likes(search, wait, task);
	*is_weak = proofs < PROOF;
	return proofs > 0 ? task : THRUM__NONE;
}
