/* SPDX-License-Identifier: ISC */
/*
 * Tells who was woken for what others wait for, and had given up its own wait before: it stayed in the
 * line, as after a time-out. It went on without taking anything, so that is lost. Or it had ended, by then,
 * and so nobody goes on.
 */
#include "analyse/why/unusual/unusual.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */
#define WOKEN_MIN 3    /* so many that were woken show that their like go on so */

/* The latest edge by which something was put into an object, or given back, if nobody took it; else NONE. */
static uint32_t last_given(const struct thrum__model *model, uint32_t object)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in);

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK)
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
	uint32_t edge = THRUM__TASK(model, THRUM__EDGE(model, woken, to), edge_out);
	bool went_on = wakes_dead(model, woken), had_left = went_on;

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
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
