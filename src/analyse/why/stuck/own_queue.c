/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a thread waits, in the middle of a job, for what only another job of its own queue does: so
 * far the thread alone signalled that. Its next job is in the queue, and nobody else takes jobs there.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges that are searched, from the latest back */
#define JOBS_MIN 3     /* waits for jobs that show a queue */

/* Whether a thread alone ever signalled a condition, and did. */
static bool alone_signals(const struct thrum__model *model, uint32_t condition, uint32_t thread)
{
	uint32_t edge = THRUM__TASK(model, condition, edge_in), signals = 0;

	if (THRUM__TASK(model, condition, kind) != THRUM_KIND_CONDITION ||
		THRUM__TASK(model, condition, flags) & THRUM__TASK_PREEXISTING ||
		THRUM__BEGINS_WITH(model, condition, "shared "))
		return false;
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		if (thrum__why_heir_of(model, THRUM__EDGE(model, edge, from)) != thread)
			return false;
		signals++;
	}
	return edge == THRUM__NONE && signals > 0;
}

/* Whether a thread alone waits at a condition, and often did, as it takes its jobs there. */
static bool alone_waits(const struct thrum__model *model, uint32_t condition, uint32_t thread)
{
	uint32_t waits = 0;

	THRUM__ACTS_ON (model, condition, edge, LOOK_BACK, THRUM__EDGE_WAIT) {
		if (THRUM__EDGE(model, edge, from) != thread)
			return false;
		waits++;
	}
	return waits >= JOBS_MIN;
}

/* The condition for which a thread waited before it began the wait of an edge, with no other wait between; or
 * NONE. */
static uint32_t waited_before(const struct thrum__model *model, uint32_t edge)
{
	uint32_t leaf = THRUM__EDGE(model, edge, to);

	edge = THRUM__EDGE(model, edge, prev_out);
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			return to != leaf && thrum__why_is_condition(model, to) ? to : THRUM__NONE;
	}
	return THRUM__NONE;
}

/* The signal that told of a thread's next job since a time, when nobody waited for it; or NONE. */
static uint32_t next_job(const struct thrum__model *model, uint32_t queue, uint32_t thread,
	int64_t since)
{
	uint32_t edge = thrum__why_edge_to(model, queue, THRUM__EDGE_SIGNAL);

	return edge != THRUM__NONE && THRUM__EDGE(model, edge, time) > since &&
			thrum__model_waiters(model, edge) == 0 && alone_waits(model, queue, thread)
		? edge
		: THRUM__NONE;
}

bool thrum__why_add_own_queue(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t queue, job;

	if (!last || last->is_served || path->circle != THRUM__NONE || search->gap >= 0 ||
		last->wait.on != path->leaf || last->wait.edge == THRUM__NONE ||
		THRUM__TASK(model, last->task, kind) != THRUM_KIND_THREAD ||
		!alone_signals(model, path->leaf, last->task))
		return false;
	queue = waited_before(model, last->wait.edge);
	job = queue == THRUM__NONE ? THRUM__NONE
				   : next_job(model, queue, last->task, last->wait.since);
	if (job == THRUM__NONE || !thrum__why_all_look(search, last->task, last->wait.since))
		return false;
	if (finding)
		thrum__why_add_at(finding, model, THRUM__STEP_NEEDS_LANE, queue, last->task, job);
	return true;
}
