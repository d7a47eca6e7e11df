/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a task waits for room in a queue, and not for the next item. A full queue looks like an empty
 * one of holes, but for its beginning: the task put something in before anybody took something out.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges that are searched, from the latest back */

/* When a condition was first signalled by others than this task, or by it. THRUM__OPEN: never, or not known. */
static int64_t first_signal(const struct thrum__model *model, uint32_t on, uint32_t task,
	bool is_by_others)
{
	uint32_t edge = THRUM__TASK(model, on, edge_in);
	int64_t first = THRUM__OPEN;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			(thrum__why_actor(model, edge) == task) != is_by_others)
			first = THRUM__EDGE(model, edge, time);
	return edge == THRUM__NONE ? first : THRUM__OPEN;
}

/* Whether one of some tasks has waited for an object. */
static bool have_waited(const struct thrum__model *model, uint32_t object,
	const struct thrum__why_servers *servers)
{
	for (unsigned i = 0; i < servers->count; i++)
		if (thrum__why_waits_on(model, servers->task[i], object) > 0)
			return true;
	return false;
}

bool thrum__why_wants_room(const struct thrum__model *model, uint32_t room, uint32_t waiter,
	const struct thrum__why_servers *servers, uint32_t but)
{
	uint32_t edge = THRUM__TASK(model, waiter, edge_out), waits = 0;

	if (THRUM__TASK(model, room, kind) != THRUM_KIND_CONDITION ||
		THRUM__TASK(model, room, flags) & THRUM__TASK_PREEXISTING)
		return false;
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int64_t put;

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && to == room &&
			waits++ == 1)
			return false;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL || waits != 1 ||
			to == but || !thrum__model_has_row(&model->tasks, to) ||
			THRUM__TASK(model, to, kind) != THRUM_KIND_CONDITION)
			continue;
		put = first_signal(model, to, waiter, false);
		if (put < first_signal(model, room, waiter, true) &&
			(to == room || have_waited(model, to, servers)))
			return true;
	}
	return false;
}
