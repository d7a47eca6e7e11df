/* SPDX-License-Identifier: ISC */
/*
 * Tells whether all that make room in a queue wait for room there themselves. They put items into the queue
 * and take them out, and signal one condition for each. An item was put there before one was taken: so the
 * condition that was signalled later is the one for room. Nobody idles there, as whoever waits for room has
 * an item to put.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges that are searched, from the latest back */

/* The other condition that a task signalled last; NONE: there is none. */
static uint32_t other_of(const struct thrum__model *model, uint32_t task, uint32_t condition)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL && to != condition &&
			thrum__model_has_row(&model->tasks, to) &&
			THRUM__TASK(model, to, kind) == THRUM_KIND_CONDITION)
			return to;
	}
	return THRUM__NONE;
}

/* When a condition was signalled first; OPEN: never, or that isn't known. */
static int64_t first_signal(struct thrum__search *search, uint32_t condition)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, condition, edge_in);
	int64_t first = THRUM__OPEN;

	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_in)) {
		if (search->budget == 0)
			return THRUM__OPEN;
		search->budget--;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			first = THRUM__EDGE(model, edge, time);
	}
	return edge == THRUM__NONE ? first : THRUM__OPEN;
}

bool thrum__why_lacks_room(struct thrum__search *search, const struct thrum__why_path *path,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t items = THRUM__NONE;
	int64_t room;
	unsigned first;

	if (!last || THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_CONDITION ||
		servers->pending == 0 || !servers->is_whole ||
		thrum__why_able_servers(search, path->leaf, servers, &first) > 0)
		return false;
	for (unsigned i = 0; i < servers->count; i++) {
		uint32_t other = other_of(model, servers->task[i], path->leaf);

		if (other == THRUM__NONE || (items != THRUM__NONE && other != items))
			return false;
		items = other;
	}
	room = first_signal(search, path->leaf);
	return room != THRUM__OPEN && first_signal(search, items) < room &&
		thrum__why_all_look(search, last->task, last->wait.since);
}
