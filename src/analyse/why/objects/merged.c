/* SPDX-License-Identifier: ISC */
/*
 * Finds wake-ups that became one. A waiter woke a handle of another loop several times before that ran, and
 * it ran once for all of them: a callback that does one thing for each call has left the others undone.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024 /* edges that are searched, from the latest back */
#define RUNS_BACK 1024 /* runs of the handle that are searched */
#define RUNS_MAX 2     /* runs for several wake-ups; one that has more takes all there is */

/* The handle that a task woke last before an edge, or NONE. */
static uint32_t woken_before(const struct thrum__model *model, uint32_t edge)
{
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY &&
			thrum__model_has_row(&model->tasks, to) &&
			THRUM__BEGINS_WITH(model, to, "async "))
			return to;
	}
	return THRUM__NONE;
}

/* How often a task has waited for an object, now too, since it woke a handle. */
static uint32_t waits_since(const struct thrum__model *model,
	const struct thrum__analyse_wait *wait, uint32_t handle)
{
	uint32_t edge = wait->edge, count = 0;

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (kind == THRUM__EDGE_READY && to == handle)
			return count;
		count += kind == THRUM__EDGE_WAIT && to == wait->on;
	}
	return 0;
}

/* How often an object was signalled since a time. */
static uint32_t signals_since(const struct thrum__model *model, uint32_t object, int64_t since)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in), count = 0;

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) >= since;
		i++, edge = THRUM__EDGE(model, edge, prev_in))
		count += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL;
	return count;
}

uint32_t thrum__why_merged(const struct thrum__model *model, const struct thrum__why_link *link,
	uint32_t *count, int64_t *time)
{
	uint32_t task = woken_before(model, link->wait.edge), edge, run, runs = 0, since = 0;

	*count = 0;
	if (task == THRUM__NONE)
		return THRUM__NONE;
	edge = THRUM__TASK(model, task, edge_in);
	for (run = THRUM__TASK(model, task, run);
		since < RUNS_BACK && thrum__model_has_row(&model->runs, run);
		run = THRUM__RUN(model, run, prev), since++) {
		int64_t start = THRUM__RUN(model, run, start);
		uint32_t before = THRUM__RUN(model, run, prev), woken = 0;
		int64_t last = thrum__model_has_row(&model->runs, before)
			? THRUM__RUN(model, before, start)
			: -1;

		for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, time) > last;
			i++, edge = THRUM__EDGE(model, edge, prev_in)) {
			if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READY)
				continue;
			/* It has yet to run. */
			if (THRUM__EDGE(model, edge, time) > start)
				return THRUM__NONE;
			woken += THRUM__EDGE(model, edge, from) == link->task;
		}
		if (woken < 2)
			continue;
		*count = woken;
		*time = start;
		if (++runs > RUNS_MAX)
			return THRUM__NONE;
	}
	/* Each run did one thing, if any. */
	return runs > 0 && signals_since(model, link->wait.on, *time) <= since ? task : THRUM__NONE;
}

bool thrum__why_expects_more(const struct thrum__model *model, const struct thrum__why_link *link)
{
	uint32_t count, waits;
	int64_t time;
	uint32_t task = thrum__why_merged(model, link, &count, &time);

	if (task == THRUM__NONE ||
		thrum__why_actor_to(model, link->wait.on, THRUM__EDGE_SIGNAL) != task)
		return false;
	waits = waits_since(model, &link->wait, task);
	return waits > 1 && waits <= count;
}
