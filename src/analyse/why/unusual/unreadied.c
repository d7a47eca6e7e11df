/* SPDX-License-Identifier: ISC */
/*
 * Finds an object that was signalled though nobody was made ready then: the one that gave the signal made a
 * waiter ready each time before. So the signal went to one that had left its place in the line, and a task
 * that stands there anew waits on.
 */
#include "analyse/why/unusual/unusual.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */
#define READIED_MIN 4  /* so many signals that made a waiter ready */

static bool makes_ready(const struct thrum__model *model, uint32_t edge)
{
	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY;
}

/* Whether the one that gave a signal made a task ready right after it gave each one before to that object,
 * but none after this one. */
static bool is_first_without(const struct thrum__model *model, uint32_t signal)
{
	uint32_t object = THRUM__EDGE(model, signal, to), next = THRUM__NONE;
	unsigned readied = 0;

	THRUM__EDGES_FROM (model, THRUM__EDGE(model, signal, from), edge, LOOK_BACK) {
		if (edge >= signal && makes_ready(model, edge))
			return false;
		if (edge < signal && THRUM__EDGE(model, edge, to) == object &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL) {
			if (!makes_ready(model, next) || thrum__model_waiters(model, edge) <= 0)
				return false;
			readied++;
		}
		next = edge;
	}
	return readied >= READIED_MIN;
}

/* Whether a task was made ready or went on since a time. */
static bool is_moved(const struct thrum__model *model, uint32_t task, int64_t since)
{
	uint32_t ready = thrum__why_edge_to(model, task, THRUM__EDGE_READY);

	return THRUM__TASK(model, task, last) > since ||
		(ready != THRUM__NONE && THRUM__EDGE(model, ready, time) >= since);
}

/* The latest signal of an object, if nobody has taken anything since; else NONE. */
static uint32_t last_signal(const struct thrum__model *model, uint32_t object)
{
	THRUM__EDGES_TO (model, object, edge, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
			return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL ? edge
										    : THRUM__NONE;
	return THRUM__NONE;
}

/* The same, if it made nobody ready during a wait, though its like did; or NONE. */
static uint32_t signal_without(const struct thrum__model *model,
	const struct thrum__analyse_wait *wait)
{
	uint32_t signal;
	int64_t time;

	if (wait->is_link || !thrum__analyse_task_is_object(model, wait->on))
		return THRUM__NONE;
	signal = last_signal(model, wait->on);
	if (signal == THRUM__NONE || thrum__why_actor(model, signal) == THRUM__NONE)
		return THRUM__NONE;
	time = THRUM__EDGE(model, signal, time);
	return time > wait->since && model->end - time >= THRUM__SOON_OUTSIDE &&
			thrum__model_waiters(model, signal) > 0 && is_first_without(model, signal)
		? signal
		: THRUM__NONE;
}

uint32_t thrum__why_unreadied(const struct thrum__search *search,
	const struct thrum__why_path *path, uint32_t at, struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *link = &path->links[at];
	struct thrum__analyse_waits waits;

	if (search->gap >= 0 || link->is_served)
		return THRUM__NONE;
	waits = thrum__analyse_graph_waits(&search->graph, link->task);
	for (unsigned i = 0; i < waits.count; i++) {
		uint32_t signal = signal_without(model, &waits.waits[i]);
		int64_t time = signal == THRUM__NONE ? 0 : THRUM__EDGE(model, signal, time);

		if (signal == THRUM__NONE || is_moved(model, link->task, time) ||
			(at > 0 && path->links[at - 1].wait.on == link->task &&
				is_moved(model, path->links[at - 1].task, time)))
			continue;
		*wait = waits.waits[i];
		return signal;
	}
	return THRUM__NONE;
}

bool thrum__why_add_unreadied(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct thrum__analyse_wait wait;
	uint32_t signal = path->length > 0 && path->circle == THRUM__NONE
		? thrum__why_unreadied(search, path, path->length - 1, &wait)
		: THRUM__NONE;

	if (signal == THRUM__NONE || wait.on != path->leaf)
		return false;
	thrum__why_set_more(thrum__why_add_at(finding, search->model, THRUM__STEP_UNTAKEN,
				    THRUM__EDGE(search->model, signal, from), path->leaf, signal),
		1);
	return true;
}
