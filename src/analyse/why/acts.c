/* SPDX-License-Identifier: ISC */
/* Answers questions about the acts of tasks on each other: edges that lead to a task, or by which it acts. */
#include "analyse/why/parts.h"

#define LOOK_BACK 64    /* edges of a task that are searched, from the latest back */
#define ACTS_BACK 1024  /* the same of those by which it acts */
#define LOCKS_BACK 1024 /* locks that a task took and released one after the other */
#define READY_BACK 16   /* edges of a waiter between its call and its wait */

uint32_t thrum__why_edge_to(const struct thrum__model *model, uint32_t task, int kind)
{
	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, kind)
		return edge;
	return THRUM__NONE;
}

uint32_t thrum__why_edge_from(const struct thrum__model *model, uint32_t task, int kind)
{
	THRUM__ACTS_OF (model, task, edge, ACTS_BACK, kind)
		return edge;
	return THRUM__NONE;
}

bool thrum__why_has_acted(const struct thrum__model *model, uint32_t task, int kind, uint32_t on)
{
	THRUM__ACTS_ON (model, on, edge, ACTS_BACK, kind)
		if (THRUM__EDGE(model, edge, from) == task)
			return true;
	return false;
}

uint32_t thrum__why_actor(const struct thrum__model *model, uint32_t edge)
{
	return edge == THRUM__NONE ? THRUM__NONE
				   : thrum__why_known(model, THRUM__EDGE(model, edge, from));
}

uint32_t thrum__why_actor_to(const struct thrum__model *model, uint32_t task, int kind)
{
	return thrum__why_actor(model, thrum__why_edge_to(model, task, kind));
}

uint32_t thrum__why_acted_on(const struct thrum__model *model, uint32_t task, int kind)
{
	uint32_t edge = thrum__why_edge_from(model, task, kind);

	return edge == THRUM__NONE ? edge : thrum__why_known(model, THRUM__EDGE(model, edge, to));
}

uint32_t thrum__why_act_before(const struct thrum__model *model, uint32_t edge)
{
	edge = THRUM__EDGE(model, edge, prev_out);
	for (unsigned i = 0; i < LOCKS_BACK && thrum__model_has_row(&model->edges, edge) &&
		(THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK ||
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_UNLOCK);
		i++)
		edge = THRUM__EDGE(model, edge, prev_out);
	return edge;
}

uint32_t thrum__why_ready_edge(const struct thrum__model *model,
	const struct thrum__analyse_wait *wait)
{
	uint32_t edge = wait->edge;

	THRUM__EDGES_BACK (model, edge, prev_out, READY_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_READY)
			return edge;
		if (kind == THRUM__EDGE_WAIT && to != wait->on)
			break;
	}
	return THRUM__NONE;
}

uint32_t thrum__why_made_ready(const struct thrum__model *model,
	const struct thrum__analyse_wait *wait)
{
	uint32_t edge = thrum__why_ready_edge(model, wait);

	return edge == THRUM__NONE ? THRUM__NONE
				   : thrum__why_known(model, THRUM__EDGE(model, edge, to));
}

uint32_t thrum__why_first_cancelled(const struct thrum__model *model, uint32_t task)
{
	uint32_t source;

	THRUM__ACTS_OF (model, task, edge, LOOK_BACK, THRUM__EDGE_READ) {
		if (!thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)))
			return task;
		source = thrum__model_heir(model, THRUM__EDGE(model, edge, to));
		return THRUM__TASK(model, source, state) == THRUM__STATE_CANCELLED ? source : task;
	}
	return task;
}
