/* SPDX-License-Identifier: ISC */
/*
 * Finds threads that all wait for jobs which only they could do. Each waits in one place for a condition that
 * nobody ever signalled, as it was made for this wait. Earlier waits there tell who signals: only threads
 * of the same name, and all of these wait there now. They took their jobs from a queue, and nobody else ever
 * did. Jobs were put there since one of them last came to it.
 */
#include <stdlib.h>

#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/excuses/excuses.h"
#include "analyse/why/objects/objects.h"

#define LONG 1000000000 /* ns that they wait at least */
#define THREADS_MAX 64
#define PLACES_MAX 16   /* places of the program that are tried */
#define LOOK_BACK 1024  /* edges that are searched, from the latest back */
#define SIGNALS_BACK 16 /* the same, of a condition that was made for one wait */
#define PROOF 3         /* earlier waits that one of them ended */
#define TOLD 3          /* threads that have a step */

/* Threads that wait in one place. */
struct crew {
	int place;
	uint32_t threads[THREADS_MAX], count;
	int64_t since; /* when the last of them began to wait */
};

/* The wait of a lane's thread for a condition that was made for it: the last that the thread did, without a
 * time limit. NULL: there is none. */
static const struct thrum__analyse_wait *wait_of(const struct thrum__search *search, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	uint32_t thread = thrum__why_task_of_lane(&model->lanes[lane]);
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, thread);

	return wait && !wait->is_link && THRUM__TASK(model, thread, kind) == THRUM_KIND_THREAD &&
			thrum__analyse_task_is_pending(model, thread) &&
			thrum__model_last_edge(model, thread) == wait->edge &&
			THRUM__EDGE(model, wait->edge, value) != 0 &&
			thrum__why_is_condition(model, wait->on) &&
			!(THRUM__TASK(model, wait->on, flags) & THRUM__TASK_PREEXISTING) &&
			!THRUM__BEGINS_WITH(model, wait->on, "shared ") &&
			thrum__why_is_untouched(model, wait->on) &&
			thrum__why_timed_task(model, lane) == THRUM__NONE
		? wait
		: NULL;
}

/* Finds all threads named like that of a lane. Returns false if one of them doesn't wait in that place, or if
 * they are too many, only one, or of several processes. */
static bool find_crew(const struct thrum__search *search, uint32_t first, struct crew *crew)
{
	const struct thrum__model *model = search->model;
	uint32_t like = thrum__why_task_of_lane(&model->lanes[first]);

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t thread = thrum__why_task_of_lane(&model->lanes[i]);
		const struct thrum__analyse_wait *wait;

		if (!thrum__analyse_task_is_pending(model, thread) ||
			!thrum__why_are_named_alike(model, like, thread))
			continue;
		wait = wait_of(search, i);
		if (!wait || (int)THRUM__EDGE(model, wait->edge, value) != crew->place ||
			model->lanes[i].process != model->lanes[first].process ||
			crew->count == THREADS_MAX)
			return false;
		crew->since = wait->since > crew->since ? wait->since : crew->since;
		crew->threads[crew->count++] = thread;
	}
	return crew->count > 1;
}

static bool is_in(const struct crew *crew, uint32_t task)
{
	return thrum__why_is_among(crew->threads, crew->count, task);
}

/* ---- Signals of earlier waits --------------------------------------------------------------- */

/* How many signals a condition had; -1: one of them came from elsewhere. */
static int signals_of(const struct thrum__model *model, const struct crew *crew, uint32_t condition)
{
	int count = 0;

	THRUM__EDGES_TO (model, condition, edge, SIGNALS_BACK) {
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		if (!is_in(crew, THRUM__EDGE(model, edge, from)))
			return -1;
		count++;
	}
	return count;
}

/* Whether threads of the crew ended all earlier waits of the crew in that place. */
static bool serves_itself(const struct thrum__model *model, const struct crew *crew)
{
	int proofs = 0;

	for (uint32_t i = 0; i < crew->count; i++)
		THRUM__EDGES_FROM (model, crew->threads[i], edge, LOOK_BACK) {
			uint32_t on = THRUM__EDGE(model, edge, to);
			int count;

			if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
				(int)THRUM__EDGE(model, edge, value) != crew->place ||
				!thrum__model_has_row(&model->tasks, on))
				continue;
			count = signals_of(model, crew, on);
			if (count < 0)
				return false;
			proofs += count > 0;
		}
	return proofs >= PROOF;
}

/* ---- The queue ------------------------------------------------------------------------------- */

/* Whether a condition tells of jobs: all of the crew waited for it, and nobody else did. One of the crew gave
 * it the last signal, and nobody has come to it since. */
static bool is_queue(const struct thrum__model *model, const struct crew *crew, uint32_t queue)
{
	bool is_latest = true;

	THRUM__EDGES_TO (model, queue, edge, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (kind != THRUM__EDGE_SIGNAL && kind != THRUM__EDGE_WAIT &&
			kind != THRUM__EDGE_READ)
			continue;
		if ((is_latest || kind != THRUM__EDGE_SIGNAL) && !is_in(crew, from))
			return false;
		if (is_latest && kind != THRUM__EDGE_SIGNAL)
			return false;
		is_latest = false;
	}
	for (uint32_t i = 0; i < crew->count; i++)
		if (thrum__why_waits_on(model, crew->threads[i], queue) == 0)
			return false;
	return !is_latest;
}

/* Whether each thread of the crew put a job into the queue before its wait: the condition that it signalled
 * last is that of the queue. */
static bool has_given_jobs(const struct thrum__model *model, const struct crew *crew)
{
	uint32_t queue = thrum__why_acted_on(model, crew->threads[0], THRUM__EDGE_SIGNAL);

	if (!thrum__why_is_condition(model, queue))
		return false;
	for (uint32_t i = 1; i < crew->count; i++)
		if (thrum__why_acted_on(model, crew->threads[i], THRUM__EDGE_SIGNAL) != queue)
			return false;
	return is_queue(model, crew, queue);
}

/* ---- The finding ----------------------------------------------------------------------------- */

/* Whether the thread that made one of the crew goes on: it may make more of them. */
static bool may_grow(const struct thrum__search *search, const struct crew *crew)
{
	const struct thrum__model *model = search->model;
	uint32_t maker = THRUM__TASK(model, crew->threads[0], creator);

	for (uint32_t i = 0; i < model->lane_count; i++)
		if (thrum__why_task_of_lane(&model->lanes[i]) == maker ||
			model->lanes[i].task == maker)
			return thrum__analyse_task_is_pending(model, maker) &&
				(thrum__why_blocker_of(search, i) == THRUM__NONE ||
					thrum__why_timed_task(model, i) != THRUM__NONE);
	return false;
}

static void add_finding(struct thrum__search *search, const struct crew *crew)
{
	int certainty = may_grow(search, crew) ? THRUM__POSSIBLE : THRUM__LIKELY;
	uint32_t first = crew->threads[0];
	struct thrum__finding *finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
		thrum__why_certainty(search, certainty, crew->since), first);

	if (!finding)
		return;
	for (uint32_t i = 0; i < crew->count; i++) {
		uint32_t thread = crew->threads[i];
		const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, thread);

		if (i == 0)
			thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, thread, wait->on,
				wait->since, wait->edge);
		else if (i < TOLD)
			thrum__why_add_step(finding, THRUM__STEP_MAY_SIGNAL, thread,
				thrum__why_wait_of(search, first)->on, wait->since, wait->edge);
		else
			finding->behind++;
		*thrum__cause(search, thread) = search->findings->count - 1;
		thrum__why_mark(search, thread, THRUM__MARK_STUCK);
	}
}

static bool is_known(const struct thrum__search *search, const struct crew *crew)
{
	for (uint32_t i = 0; i < crew->count; i++)
		if (*thrum__cause(search, crew->threads[i]) < search->findings->count)
			return true;
	return false;
}

int thrum__why_find_own_jobs(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	int places[PLACES_MAX];
	unsigned tried = 0, k;

	for (uint32_t i = 0; i < model->lane_count && tried < PLACES_MAX; i++) {
		const struct thrum__analyse_wait *wait = wait_of(search, i);
		struct crew crew = {.since = -1};

		if (!wait)
			continue;
		crew.place = THRUM__EDGE(model, wait->edge, value);
		for (k = 0; k < tried && places[k] != crew.place;)
			k++;
		if (k < tried)
			continue;
		places[tried++] = crew.place;
		if (find_crew(search, i, &crew) && model->end - crew.since >= LONG &&
			has_given_jobs(model, &crew) && serves_itself(model, &crew) &&
			!is_known(search, &crew))
			add_finding(search, &crew);
	}
	return 0;
}
