/* SPDX-License-Identifier: ISC */
/* Finds signals of conditions that nobody heard. */
#include "analyse/why/parts.h"

/* Whether a condition resolved or created a task at a time in from … to - 1. The search goes back
 * from *edge, an edge of the condition, and moves *edge with it: so a caller that asks about the
 * latest signal first, then about earlier ones, visits each edge once. */
static bool has_acted(const struct thrum__model *model, uint32_t condition, uint32_t *edge,
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
 * A signal in a thrum recording says how many waiters heard it. In a mirage-profile trace it
 * doesn't, and the beginning of a wait looks like a signal too: there, a signal was lost only if
 * the condition does nothing between it and the next one.
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
		/* The condition's acts before that time may be forgotten. */
		if (model->is_mirage && time < model->forgotten)
			return THRUM__NONE;
		/* This skips the signal that is the beginning of the wait itself: it lies just
		 * before the wait. */
		if (model->is_mirage && has_acted(model, condition, &act, time, next)) {
			next = time;
			continue;
		}
		if (time > wait || (!model->is_mirage && THRUM__EDGE(model, edge, value) != 0))
			return THRUM__NONE;
		return edge;
	}
	return THRUM__NONE;
}
