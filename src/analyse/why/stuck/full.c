/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a task waits for room in a queue, and not for the next item. A full queue looks like an empty
 * one of holes, but for its beginning: the task put something in before anybody took something out.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges that are searched, from the latest back */
#define NEEDED_MIN 3   /* so often it gave what the others need: a gate may be opened once */

/* How often a condition was signalled by a task, or by all others. Sets *first to the first time;
 * THRUM__OPEN: never, or not known. */
static uint32_t count_signals(const struct thrum__model *model, uint32_t on, uint32_t task,
	bool is_by_others, int64_t *first)
{
	uint32_t edge = THRUM__TASK(model, on, edge_in), count = 0;

	*first = THRUM__OPEN;
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL ||
			(thrum__why_actor(model, edge) == task) == is_by_others)
			continue;
		*first = THRUM__EDGE(model, edge, time);
		count++;
	}
	if (edge != THRUM__NONE)
		*first = THRUM__OPEN;
	return count;
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
	const struct thrum__why_servers *servers, uint32_t needed)
{
	uint32_t edge = THRUM__TASK(model, waiter, edge_out);
	int64_t put, taken;
	bool has_waited = false, has_put = false;

	if (THRUM__TASK(model, room, kind) != THRUM_KIND_CONDITION ||
		count_signals(model, needed, waiter, false, &put) < NEEDED_MIN)
		return false;
	(void)count_signals(model, room, waiter, true, &taken);
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_WAIT && to == room) {
			if (has_put)
				return true;
			has_waited = true;
		}
		if (kind != THRUM__EDGE_SIGNAL || !has_waited || has_put || to == needed ||
			!thrum__model_has_row(&model->tasks, to) ||
			THRUM__TASK(model, to, kind) != THRUM_KIND_CONDITION)
			continue;
		(void)count_signals(model, to, waiter, false, &put);
		has_put = put < taken && (to == room || have_waited(model, to, servers));
	}
	return false;
}
