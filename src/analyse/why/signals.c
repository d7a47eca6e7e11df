/* SPDX-License-Identifier: ISC */
/* Signals of conditions that nobody heard. */
#include "analyse/why/parts.h"

/* Whether a condition did something of its own in from … to: resolved a waiter, made one. *edge is
 * where to look on from, back from its latest: each is looked at once for all its signals. */
static bool acted(const struct thrum__model *model, uint32_t condition, uint32_t *edge,
	int64_t from, int64_t to)
{
	uint32_t task = thrum__analyse_task_from(model, from);

	for (; thrum__model_has_row(&model->edges, *edge) &&
		THRUM__EDGE(model, *edge, time) >= from;
		*edge = THRUM__EDGE(model, *edge, prev_out)) {
		if (THRUM__EDGE(model, *edge, time) < to &&
			THRUM__EDGE(model, *edge, kind) == THRUM__EDGE_RESOLVE)
			return true;
	}
	for (; thrum__model_has_row(&model->tasks, task) && THRUM__TASK(model, task, created) < to;
		task++) {
		if (THRUM__TASK(model, task, creator) == condition)
			return true;
	}
	return false;
}

/*
 * thrum's signals say whether anybody heard them. mirage-profile's don't, and beginning to wait
 * looks like a signal too: only one after which the condition does nothing was lost.
 */
uint32_t thrum__why_lost_signal(const struct thrum__model *model, uint32_t condition, int64_t wait)
{
	uint32_t edge = THRUM__TASK(model, condition, edge_in);
	uint32_t act = THRUM__TASK(model, condition, edge_out);
	int64_t next = THRUM__OPEN;

	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_in)) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		/* The one by which the wait itself began lies just before it. */
		if (model->is_mirage && acted(model, condition, &act, time, next)) {
			next = time;
			continue;
		}
		if (time > wait || (!model->is_mirage && THRUM__EDGE(model, edge, value) != 0))
			return THRUM__NONE;
		return edge;
	}
	return THRUM__NONE;
}
