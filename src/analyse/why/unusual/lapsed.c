/* SPDX-License-Identifier: ISC */
/*
 * Tells who was woken for what others wait for, and had given up its own wait before: it stayed in the
 * line, as after a time-out. It went on without taking anything, so that is lost. Or it had ended, by then,
 * and so nobody goes on. Or it waited by a promise, which it had cancelled before a task like it handed on
 * what that had got.
 */
#include "analyse/why/unusual/unusual.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */
#define WOKEN_MIN 3    /* so many that were woken show that their like go on so */

/* The latest edge by which something was put into an object, or given back, if nobody took it; else NONE. */
static uint32_t last_given(const struct thrum__model *model, uint32_t object)
{
	THRUM__EDGES_TO (model, object, edge, LOOK_BACK)
		switch (THRUM__EDGE(model, edge, kind)) {
		case THRUM__EDGE_SIGNAL:
		case THRUM__EDGE_UNLOCK: return edge;
		case THRUM__EDGE_READ:
		case THRUM__EDGE_LOCK: return THRUM__NONE;
		default: break;
		}
	return THRUM__NONE;
}

/* Whether an edge woke a task that had ended. */
static bool wakes_dead(const struct thrum__model *model, uint32_t woken)
{
	return THRUM__TASK(model, THRUM__EDGE(model, woken, to), end) <
		THRUM__EDGE(model, woken, time);
}

/* Whether a task waited for an object, did something else before an edge woke it, and something since, but
 * took nothing. */
static bool has_lapsed(const struct thrum__model *model, uint32_t object, uint32_t woken)
{
	bool went_on = wakes_dead(model, woken), had_left = went_on;

	THRUM__EDGES_FROM (model, THRUM__EDGE(model, woken, to), edge, LOOK_BACK) {
		bool is_here = THRUM__EDGE(model, edge, to) == object;
		int kind = THRUM__EDGE(model, edge, kind);

		if (is_here && kind != THRUM__EDGE_WAIT)
			return false;
		if (edge > woken)
			went_on = true;
		else if (is_here)
			return went_on && had_left;
		else
			had_left = true;
	}
	return false;
}

static bool wakes_lapsed(const struct thrum__model *model, uint32_t object, uint32_t edge)
{
	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY &&
		thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)) &&
		has_lapsed(model, object, edge);
}

uint32_t thrum__why_lapsed(const struct thrum__model *model, uint32_t object)
{
	uint32_t given = last_given(model, object), next = THRUM__NONE, edge;

	if (given == THRUM__NONE || thrum__why_actor(model, given) == THRUM__NONE)
		return THRUM__NONE;
	edge = THRUM__TASK(model, THRUM__EDGE(model, given, from), edge_out);
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		if (edge == given)
			break;
		next = edge;
	}
	edge = THRUM__EDGE(model, given, prev_out);
	return wakes_lapsed(model, object, next)    ? next
		: wakes_lapsed(model, object, edge) ? edge
						    : THRUM__NONE;
}

bool thrum__why_add_lapsed(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t object)
{
	uint32_t edge = thrum__why_lapsed(model, object);

	if (edge == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_WOKEN_INSTEAD,
				    THRUM__EDGE(model, edge, to), object, edge),
		2);
	return true;
}

uint32_t thrum__why_woken_dead(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task), last = THRUM__NONE, alive = 0;

	if (key == THRUM__NONE || search->gap >= 0 || model->is_joined ||
		thrum__why_edge_to(model, task, THRUM__EDGE_READY) != THRUM__NONE)
		return THRUM__NONE;
	for (uint32_t edge = model->edges.first; edge < model->edges.count; edge++) {
		if (!thrum__model_has_row(&model->edges, edge) || search->budget == 0)
			return THRUM__NONE;
		search->budget--;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READY ||
			!thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)) ||
			thrum__why_peers_key(&search->peers, THRUM__EDGE(model, edge, to)) != key)
			continue;
		alive += !wakes_dead(model, edge);
		last = edge;
	}
	return alive >= WOKEN_MIN && wakes_dead(model, last) &&
			!thrum__why_is_recent(model, THRUM__EDGE(model, last, time))
		? last
		: THRUM__NONE;
}

/* ---- Promises that were cancelled before they were resolved --------------------------------- */

/* Whether two tasks are known by names of one pattern. */
static bool are_known_alike(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	uint32_t known = thrum__analyse_task_known_as(model, a);

	return thrum__model_has_row(&model->tasks, b) &&
		*thrum__model_task_name(model, known, NULL) &&
		thrum__why_are_named_alike(model, known, thrum__analyse_task_known_as(model, b));
}

/* Whether an edge ends a task with this key, or comes after its end. */
static bool gives_to(const struct thrum__search *search, uint32_t edge, uint32_t key)
{
	const struct thrum__model *model = search->model;
	uint32_t to = THRUM__EDGE(model, edge, to);
	int kind = THRUM__EDGE(model, edge, kind);

	return (kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_READY) &&
		thrum__model_has_row(&model->tasks, to) &&
		thrum__why_peers_key(&search->peers, to) == key;
}

/* The latest edge that gave something to one of the leaf's like, if that was cancelled before. All that ever
 * gave them something have ended. */
static uint32_t last_given_in_vain(struct thrum__search *search, uint32_t leaf, uint32_t key)
{
	const struct thrum__model *model = search->model;
	uint32_t last = THRUM__NONE;

	for (uint32_t edge = model->edges.first; edge < model->edges.count; edge++) {
		uint32_t giver;

		if (!thrum__model_has_row(&model->edges, edge) || !thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (!gives_to(search, edge, key))
			continue;
		giver = thrum__why_heir_of(model, THRUM__EDGE(model, edge, from));
		if (giver == THRUM__NONE || thrum__analyse_task_is_pending(model, giver))
			return THRUM__NONE;
		last = edge;
	}
	return last != THRUM__NONE && THRUM__EDGE(model, last, kind) == THRUM__EDGE_READY &&
			wakes_dead(model, last) &&
			THRUM__TASK(model, THRUM__EDGE(model, last, to), state) ==
				THRUM__STATE_CANCELLED &&
			THRUM__TASK(model, THRUM__EDGE(model, last, to), created) <
				THRUM__TASK(model, leaf, created) &&
			!thrum__why_is_recent(model, THRUM__EDGE(model, last, time))
		? last
		: THRUM__NONE;
}

/* Whether all pending tasks that are known by names like this one's wait for tasks with a key. */
static bool do_all_wait(struct thrum__search *search, uint32_t like, uint32_t key)
{
	const struct thrum__model *model = search->model;

	for (uint32_t task = model->tasks.first; task < model->tasks.count; task++) {
		const struct thrum__analyse_wait *wait;

		if (!thrum__model_has_row(&model->tasks, task) || !thrum__why_spend(search, 1))
			return false;
		if (!thrum__analyse_task_is_pending(model, task) ||
			!are_known_alike(model, like, task))
			continue;
		wait = thrum__why_wait_of(search, task);
		if (!wait || !thrum__model_has_row(&model->tasks, wait->on) ||
			thrum__why_peers_key(&search->peers, wait->on) != key)
			return false;
	}
	return true;
}

/* The edge by which a task gave what the leaf needs to one like it that was cancelled before, if nobody gave
 * such a thing since, and all that may still do so wait for it themselves. NONE: there is none. */
static uint32_t given_in_vain(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task), edge, giver;

	if (key == THRUM__NONE || search->gap >= 0 || model->is_joined ||
		THRUM__TASK(model, task, run) != THRUM__NONE)
		return THRUM__NONE;
	edge = last_given_in_vain(search, task, key);
	if (edge == THRUM__NONE)
		return THRUM__NONE;
	/* It hands on what it had got so itself. One that answers others is no such task. */
	giver = THRUM__EDGE(model, edge, from);
	return are_known_alike(model, giver, thrum__why_peers_waiter(model, task)) &&
			are_known_alike(model, giver,
				thrum__why_peers_waiter(model, THRUM__EDGE(model, edge, to))) &&
			do_all_wait(search, giver, key)
		? edge
		: THRUM__NONE;
}

bool thrum__why_add_given_in_vain(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = given_in_vain(search, path->leaf), waiter;

	if (edge == THRUM__NONE)
		return false;
	waiter = thrum__why_peers_waiter(model, THRUM__EDGE(model, edge, to));
	thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_WOKEN_INSTEAD,
				    thrum__analyse_task_known_as(model, waiter),
				    THRUM__EDGE(model, edge, to), edge),
		2);
	return true;
}
