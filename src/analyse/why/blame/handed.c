/* SPDX-License-Identifier: ISC */
/*
 * Tells who got a task that nobody ended. Some programs hand a job to a worker, and make that ready: the next
 * task that a job's maker makes ready has it. The job's peers show whether it is so.
 */
#include "analyse/why/blame/blame.h"

#define EDGES 4096  /* of a maker that are searched, from the latest back */
#define SAMPLES 256 /* peers that are looked at, from the latest back */
#define PROOFS 3    /* so many peers were ended by the one that was made ready */

/* When the maker of a task made its next peer; OPEN: it has made none. */
static int64_t next_made(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task);

	for (uint32_t i = task + 1; i < model->tasks.count && search->budget > 0; i++) {
		search->budget--;
		if (thrum__model_has_row(&model->tasks, i) &&
			thrum__why_peers_key(&search->peers, i) == key &&
			THRUM__TASK(model, i, creator) == THRUM__TASK(model, task, creator))
			return THRUM__TASK(model, i, created);
	}
	return THRUM__OPEN;
}

/* The task that the maker of this one made ready next, before it made another peer or waited; else NONE. */
static uint32_t made_ready(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t maker = THRUM__TASK(model, task, creator), found = THRUM__NONE, edge;
	int64_t since = THRUM__TASK(model, task, created), until = next_made(search, task);
	unsigned seen = 0;

	if (!thrum__model_has_row(&model->tasks, maker))
		return THRUM__NONE;
	edge = THRUM__TASK(model, maker, edge_out);
	for (; thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) >= since;
		edge = THRUM__EDGE(model, edge, prev_out)) {
		/* An earlier one may be the next. */
		if (seen++ == EDGES)
			return THRUM__NONE;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			found = THRUM__NONE;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY)
			found = THRUM__EDGE(model, edge, time) <= until
				? THRUM__EDGE(model, edge, to)
				: THRUM__NONE;
	}
	return found != maker && found != task && thrum__model_has_row(&model->tasks, found)
		? found
		: THRUM__NONE;
}

uint32_t thrum__why_handed_to(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task), taker, row = model->tasks.count;
	unsigned samples = 0, proofs = 0;
	bool is_alike = false;

	if (key == THRUM__NONE || search->gap >= 0)
		return THRUM__NONE;
	taker = made_ready(search, task);
	if (taker == THRUM__NONE || thrum__analyse_task_is_lane(model, taker))
		return THRUM__NONE;
	while (row-- > model->tasks.first && samples < SAMPLES && search->budget > 0) {
		uint32_t ready;

		search->budget--;
		if (!thrum__model_has_row(&model->tasks, row) ||
			thrum__why_peers_key(&search->peers, row) != key ||
			THRUM__TASK(model, row, state) != THRUM__STATE_RESOLVED)
			continue;
		samples++;
		ready = made_ready(search, row);
		if (ready == THRUM__NONE)
			continue;
		if (thrum__why_actor_to(model, row, THRUM__EDGE_RESOLVE) != ready)
			return THRUM__NONE;
		proofs++;
		is_alike |= ready == taker || thrum__why_is_alike(search, ready, taker);
	}
	return proofs >= PROOFS && is_alike && search->budget > 0 ? taker : THRUM__NONE;
}
