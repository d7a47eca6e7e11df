/* SPDX-License-Identifier: ISC */
/*
 * Finds a worker that left its queue: it waited for one object again and again, as those do that take
 * job after job, and ended, though the object was signalled on or others still wait there. Or finds the only
 * task that ever took something out of an object, if it is gone.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024 /* edges of an object that are searched, from the latest back */
#define WORKERS_MAX 32 /* that are told apart */
#define TURNS_MIN 2    /* waits for the object that show a worker */

/* Those that waited for an object, the latest first, and the last edge by which each waited or went on. */
struct workers {
	uint32_t task[WORKERS_MAX], edge[WORKERS_MAX];
	unsigned count, pending;
	bool is_whole; /* there are no more of them */
};

static void add_worker(const struct thrum__model *model, struct workers *workers, uint32_t edge)
{
	uint32_t task = THRUM__EDGE(model, edge, from);

	if (thrum__why_is_among(workers->task, workers->count, task))
		return;
	if (!thrum__model_has_row(&model->tasks, task) || workers->count == WORKERS_MAX) {
		workers->is_whole = false;
		return;
	}
	workers->task[workers->count] = task;
	workers->edge[workers->count++] = edge;
	workers->pending += thrum__analyse_task_is_pending(model, task);
}

static void find_workers(const struct thrum__model *model, uint32_t object, struct workers *workers)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in);

	*workers = (struct workers){.is_whole = true};
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT ||
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ)
			add_worker(model, workers, edge);
	/* The rest is forgotten, or there are too many. */
	workers->is_whole &= edge == THRUM__NONE;
}

/* Whether a task ended by itself, and not just now, after it had taken turns at the object. */
static bool has_left(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	return THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED &&
		!thrum__why_is_recent(model, THRUM__TASK(model, task, end)) &&
		thrum__why_waits_on(model, task, object) >= TURNS_MIN;
}

/* The worker that ended last of all, if the object was signalled after that; or NONE. */
static uint32_t last_leaver(const struct thrum__model *model, const struct workers *workers,
	uint32_t object)
{
	uint32_t edge = thrum__why_edge_to(model, object, THRUM__EDGE_SIGNAL);
	uint32_t last = workers->task[0];

	for (unsigned i = 1; i < workers->count; i++)
		if (THRUM__TASK(model, workers->task[i], end) > THRUM__TASK(model, last, end))
			last = workers->task[i];
	return edge != THRUM__NONE &&
			THRUM__EDGE(model, edge, time) > THRUM__TASK(model, last, end) &&
			has_left(model, last, object)
		? last
		: THRUM__NONE;
}

/* Whether a task that went on by an edge waited for something else before it ended: it had a job. */
static bool had_job(const struct thrum__model *model, uint32_t task, uint32_t read)
{
	bool waited = false;

	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (edge == read)
			return waited;
		waited |= THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, to) &&
			!thrum__analyse_task_is_lock(model, to);
	}
	return false;
}

/* The only worker that has ended, in the middle of a job, while all others wait for the next one; or
 * NONE. */
static uint32_t lone_leaver(const struct thrum__model *model, const struct workers *workers,
	uint32_t object)
{
	uint32_t found = THRUM__NONE;

	if (workers->count != workers->pending + 1)
		return THRUM__NONE;
	for (unsigned i = 0; i < workers->count; i++) {
		bool is_waiting = THRUM__EDGE(model, workers->edge[i], kind) == THRUM__EDGE_WAIT;

		if (!thrum__analyse_task_is_pending(model, workers->task[i]))
			found = i;
		else if (!is_waiting)
			return THRUM__NONE;
	}
	return has_left(model, workers->task[found], object) &&
			had_job(model, workers->task[found], workers->edge[found])
		? workers->task[found]
		: THRUM__NONE;
}

/* Finds the worker that left an object. */
static struct thrum__why_leaver leaver_at(const struct thrum__model *model, uint32_t object)
{
	struct thrum__why_leaver leaver = {THRUM__NONE, object, false};
	struct workers workers;

	find_workers(model, object, &workers);
	if (workers.count == 0 || !workers.is_whole)
		return leaver;
	leaver.is_last = workers.pending == 0;
	leaver.task = leaver.is_last ? last_leaver(model, &workers, object)
				     : lone_leaver(model, &workers, object);
	return leaver;
}

struct thrum__why_leaver thrum__why_leaver_of(struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_leaver found = {THRUM__NONE, THRUM__NONE, false};

	THRUM__WHY_EACH (search, task, THRUM__SORT_WANTED) {
		struct thrum__why_leaver leaver;
		int kind = THRUM__TASK(model, task, kind);

		if (!thrum__why_spend(search, 1))
			break;
		if (task == leaf ||
			(kind != THRUM_KIND_CONDITION && kind != THRUM_KIND_MAILBOX &&
				kind != THRUM_KIND_STREAM))
			continue;
		leaver = leaver_at(model, task);
		if (leaver.task == THRUM__NONE)
			continue;
		/* With several of them, that is the way of the program, or its end. */
		if (found.task != THRUM__NONE)
			return (struct thrum__why_leaver){THRUM__NONE, THRUM__NONE, false};
		found = leaver;
	}
	return found;
}

/* ---- One of those that end something together --------------------------------------------------- */

uint32_t thrum__why_leaver_beside(const struct thrum__search *search, uint32_t ender, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, ender), found = THRUM__NONE, others = 0;

	if (key == THRUM__NONE || search->gap > since)
		return THRUM__NONE;
	THRUM__EACH_TASK (model, i) {
		if (i == ender || thrum__why_peers_key(&search->peers, i) != key)
			continue;
		others += thrum__analyse_task_is_pending(model, i);
		if (THRUM__TASK(model, i, state) != THRUM__STATE_RESOLVED)
			continue;
		/* Those that end as a rule tell nothing. */
		if (found != THRUM__NONE || THRUM__TASK(model, i, end) < since)
			return THRUM__NONE;
		found = i;
	}
	return others > 0 ? found : THRUM__NONE;
}

/* ---- The only taker ---------------------------------------------------------------------------- */

/* The task that goes on after a wait: the waiter if it has a name, else the one that reads its result. */
static uint32_t goes_on(const struct thrum__model *model, uint32_t waiter)
{
	uint32_t reader = THRUM__NONE;

	if (!thrum__model_has_row(&model->tasks, waiter))
		return THRUM__NONE;
	if (!*thrum__model_task_name(model, waiter, NULL))
		reader = thrum__why_actor_to(model, waiter, THRUM__EDGE_READ);
	return thrum__why_heir_of(model, reader == THRUM__NONE ? waiter : reader);
}

uint32_t thrum__why_gone_taker(const struct thrum__model *model, uint32_t signal, uint32_t *by)
{
	uint32_t edge = THRUM__EDGE(model, signal, prev_in), taker = THRUM__NONE, turns = 0;

	THRUM__EDGES_OF (model, edge, prev_in, LOOK_BACK, THRUM__EDGE_WAIT) {
		uint32_t waiter = THRUM__EDGE(model, edge, from), next;

		next = goes_on(model, waiter);
		if (next == THRUM__NONE || (turns++ > 0 && next != taker))
			return THRUM__NONE;
		if (turns > 1)
			continue;
		taker = next;
		*by = thrum__why_actor_to(model, waiter, THRUM__EDGE_CANCEL);
	}
	return edge == THRUM__NONE && turns >= TURNS_MIN &&
			!thrum__analyse_task_is_pending(model, taker) &&
			THRUM__TASK(model, taker, end) <= THRUM__EDGE(model, signal, time) &&
			*thrum__model_task_name(model, taker, NULL)
		? taker
		: THRUM__NONE;
}
