/* SPDX-License-Identifier: ISC */
/*
 * Tells which task was made ready though it already was and hadn't run since, if none of those that were made
 * ready in between ever ran: a queue that links its tasks loses them so. Nothing is told if a task was made
 * ready twice without a loss, as then that does no harm.
 */
#include "analyse/why/unusual/unusual.h"

#define LOOK_BACK 64 /* edges to a task and runs of it that are searched, from the latest back */

/* Whether a task ran between two times, as far as is known. */
static bool ran_between(const struct thrum__model *model, uint32_t task, int64_t from, int64_t to)
{
	uint32_t run = THRUM__TASK(model, task, run);

	for (int i = 0; i < LOOK_BACK; i++, run = THRUM__RUN(model, run, prev)) {
		if (run == THRUM__NONE)
			return false;
		if (!thrum__model_has_row(&model->runs, run))
			return true;
		if (THRUM__RUN(model, run, start) >= to)
			continue;
		return THRUM__RUN(model, run, end) > from;
	}
	return true;
}

/* The edge that made a task ready before this one did, if it hasn't run between; else NONE. */
static uint32_t first_of_two(const struct thrum__model *model, uint32_t second)
{
	uint32_t task = THRUM__EDGE(model, second, to), edge = second;

	for (int i = 0; i < LOOK_BACK; i++) {
		edge = THRUM__EDGE(model, edge, prev_in);
		if (!thrum__model_has_row(&model->edges, edge))
			return THRUM__NONE;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY)
			return ran_between(model, task, THRUM__EDGE(model, edge, time),
				       THRUM__EDGE(model, second, time))
				? THRUM__NONE
				: edge;
	}
	return THRUM__NONE;
}

/* Whether all that were made ready between two edges never ran since, and one of them could. */
static bool are_lost(struct thrum__search *search, uint32_t first, uint32_t second)
{
	const struct thrum__model *model = search->model;
	uint32_t task = THRUM__EDGE(model, second, to);
	bool is_lost = false;

	for (uint32_t edge = first + 1; edge < second; edge++) {
		uint32_t other;

		if (!thrum__model_has_row(&model->edges, edge) || !thrum__why_spend(search, 1))
			return false;
		other = THRUM__EDGE(model, edge, to);
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READY || other == task)
			continue;
		if (!thrum__model_has_row(&model->tasks, other) ||
			ran_between(model, other, THRUM__EDGE(model, edge, time), model->end))
			return false;
		is_lost |= thrum__analyse_task_is_pending(model, other);
	}
	return is_lost;
}

uint32_t thrum__why_readied_again(struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE, ready = thrum__why_edge_to(model, leaf, THRUM__EDGE_READY);

	if (search->gap >= 0 || model->is_joined || ready == THRUM__NONE ||
		ran_between(model, leaf, THRUM__EDGE(model, ready, time), model->end))
		return THRUM__NONE;
	for (uint32_t edge = model->edges.first; edge < model->edges.count; edge++) {
		uint32_t first;

		if (!thrum__model_has_row(&model->edges, edge) || !thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READY ||
			!thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)))
			continue;
		first = first_of_two(model, edge);
		if (first == THRUM__NONE)
			continue;
		if (!are_lost(search, first, edge))
			return THRUM__NONE;
		if (first < ready && ready < edge && found == THRUM__NONE)
			found = edge;
	}
	return found;
}
