/* SPDX-License-Identifier: ISC */
/*
 * Tells where slots of a loop were lost, if nothing else was found: connections or permits that each request
 * took, and that a few which failed didn't give on. Each of these began none like those that nearly all
 * others began, and many others came before each of them. A question that came since must have been put off:
 * its handle began such requests for those before, but nothing for this one.
 */
#include <string.h>

#include "analyse/why/blame/blame.h"

#define ODD_MAX 8   /* series that are looked at */
#define LOST_MIN 2  /* slots: one turn that left something out proves little, */
#define APART_MIN 2 /* and so do turns one after the other: the work may have come to its end */
#define BEGUN_MIN 3 /* requests of the series that questions began */

struct drain {
	const struct thrum__model *model;
	struct thrum__odd odd;
	uint32_t lane;
	int64_t time; /* of the latest turn */
};

/* A thread that waits for the loop. */
struct victim {
	uint32_t task, on;
	int64_t since;
	uint32_t edge;
};

/* ---- Waiters --------------------------------------------------------------------------------- */

/* Whether a task is like one of the series, on the loop. */
static bool is_of_series(const struct drain *drain, uint32_t task)
{
	const struct thrum__model *model = drain->model;

	return THRUM__TASK(model, task, kind) == THRUM__TASK(model, drain->odd.task[0], kind) &&
		thrum__why_last_lane(model, task) == drain->lane &&
		thrum__why_are_named_alike(model, drain->odd.task[0], task);
}

/* Whether a handle of the loop began nothing since a question came there, though such handles began tasks of
 * the series before: so the question has to wait until one of these is over. */
static bool is_put_off(const struct drain *drain, uint32_t server, int64_t asked)
{
	const struct thrum__model *model = drain->model;
	unsigned count = 0;

	if (server == THRUM__NONE)
		return false;
	THRUM__EACH_TASK (model, task) {
		uint32_t creator = THRUM__TASK(model, task, creator);

		if (creator == server && THRUM__TASK(model, task, created) >= asked)
			return false;
		count += thrum__model_has_row(&model->tasks, creator) &&
			(creator == server || thrum__why_are_named_alike(model, creator, server)) &&
			is_of_series(drain, task);
	}
	return count >= BEGUN_MIN;
}

/* The handle of the loop that got a question: the loop itself may have read it. Else NONE. */
static uint32_t handle_of(const struct drain *drain, const struct thrum__awaited *awaited)
{
	const struct thrum__model *model = drain->model;

	if (!thrum__analyse_task_is_pending(model, awaited->server) ||
		thrum__why_last_lane(model, awaited->server) != drain->lane)
		return THRUM__NONE;
	if (THRUM__TASK(model, awaited->server, kind) == THRUM_KIND_HANDLE)
		return awaited->server;
	for (uint32_t run = thrum__analyse_run_from(model, awaited->asked);
		run < model->runs.count && thrum__model_has_row(&model->runs, run); run++) {
		uint32_t task = THRUM__RUN(model, run, task);

		if (THRUM__RUN(model, run, lane) == drain->lane &&
			THRUM__RUN(model, run, start) >= awaited->asked &&
			thrum__model_has_row(&model->tasks, task) &&
			!thrum__analyse_task_is_lane(model, task))
			return THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE ? task
										   : THRUM__NONE;
	}
	return THRUM__NONE;
}

/* Whether a thread awaits the answer to a question that the loop got after the last slot was lost. */
static bool is_stuck(const struct drain *drain, const struct victim *victim)
{
	const struct thrum__model *model = drain->model;
	struct thrum__awaited awaited;

	if (THRUM__TASK(model, victim->on, kind) != THRUM_KIND_HANDLE)
		return false;
	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, victim->on, i)) != THRUM__NONE;)
		if (thrum__model_awaited(model, i, &awaited) && awaited.asked > drain->time &&
			is_put_off(drain, handle_of(drain, &awaited), awaited.asked))
			return true;
	return false;
}

/* Finds a thread that waits for the loop. */
static bool find_victim(const struct drain *drain, struct victim *victim)
{
	const struct thrum__model *model = drain->model;
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t task = thrum__why_thread_of(model, &model->lanes[i]);

		if (i == drain->lane || !thrum__analyse_task_is_pending(model, task) ||
			thrum__analyse_waits_of(model, task, waits) != 1)
			continue;
		*victim = (struct victim){task, waits[0].on, waits[0].since, waits[0].edge};
		if (is_stuck(drain, victim))
			return true;
	}
	return false;
}

/* ---- Excuses --------------------------------------------------------------------------------- */

/* Whether a timer may still come, and hasn't come round since a time. */
static bool may_come(const struct thrum__model *model, uint32_t task, int64_t since)
{
	uint32_t run = THRUM__TASK(model, task, run);
	int64_t due = thrum__why_due_of(model, task);

	return due != THRUM__OPEN && due >= model->end &&
		!(thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) > since);
}

/* Whether a task of the loop awaits an answer over a connection. */
static bool awaits_answer(const struct thrum__model *model, uint32_t task)
{
	struct thrum__awaited awaited;

	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, task, i)) != THRUM__NONE;)
		if (thrum__model_awaited(model, i, &awaited))
			return true;
	return false;
}

/* Whether something may still end the wait: a timer that is to come, such as that of another try, or an
 * answer to the loop. */
static bool is_under_way(const struct drain *drain)
{
	const struct thrum__model *model = drain->model;

	THRUM__EACH_TASK (model, task) {
		int kind = THRUM__TASK(model, task, kind);

		if (!thrum__analyse_task_is_pending(model, task))
			continue;
		if (kind == THRUM_KIND_TIMER ? may_come(model, task, drain->time)
					     : THRUM__TASK(model, task, lane) == drain->lane &&
					(kind == THRUM_KIND_REQUEST || awaits_answer(model, task)))
			return true;
	}
	return false;
}

/* Whether the loop ever signalled an object: a thread may be at work for it, and hold a slot. */
static bool has_helpers(const struct drain *drain)
{
	const struct thrum__model *model = drain->model;

	for (uint32_t edge = 0; edge < model->edges.count; edge++) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			thrum__model_has_row(&model->tasks, to) &&
			(THRUM__TASK(model, to, kind) == THRUM_KIND_CONDITION ||
				THRUM__TASK(model, to, kind) == THRUM_KIND_SEMAPHORE) &&
			thrum__why_last_lane(model, THRUM__EDGE(model, edge, from)) == drain->lane)
			return true;
	}
	return false;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static void tell(const struct drain *drain, const struct victim *victim,
	struct thrum__findings *findings)
{
	struct thrum__finding *finding = &findings->findings[findings->count++];
	const struct thrum__odd *odd = &drain->odd;

	*finding = (struct thrum__finding){
		.class = THRUM__FINDING_NEVER_RESOLVED,
		.certainty = THRUM__POSSIBLE,
		.task = victim->task,
		.until = drain->model->end,
	};
	for (uint32_t i = 0; i < odd->count; i++)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_BEGINS_NONE,
					    odd->task[i], odd->on, odd->time[i], THRUM__NONE),
			odd->with);
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, victim->task, victim->on, victim->since,
		victim->edge);
}

/* Whether each task of the series failed: the others like them didn't. */
static bool have_failed(const struct drain *drain)
{
	const struct thrum__model *model = drain->model;

	for (uint32_t i = 0; i < drain->odd.count; i++)
		if (THRUM__TASK(model, drain->odd.task[i], state) != THRUM__STATE_FAILED)
			return false;
	return true;
}

static bool try_odd(struct drain *drain, struct thrum__findings *findings)
{
	struct victim victim;

	if (drain->odd.effect != THRUM__EFFECT_BEGINS || drain->odd.count < LOST_MIN ||
		drain->odd.apart < APART_MIN)
		return false;
	drain->lane = thrum__why_last_lane(drain->model, drain->odd.task[0]);
	drain->time = drain->odd.time[0];
	if (drain->lane == THRUM__NONE || !have_failed(drain) || !find_victim(drain, &victim) ||
		is_under_way(drain) || has_helpers(drain))
		return false;
	tell(drain, &victim, findings);
	return true;
}

void thrum__why_add_drained(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	const struct thrum__model *model = search->model;
	struct thrum__search state = {.model = model};
	struct thrum__odd odd[ODD_MAX];
	int count;

	thrum__why_find_silence(&state);
	/* Others outside may be asked, and slow. */
	if (findings->count > 0 || !state.is_still || thrum__why_heard_outside(model))
		return;
	count = thrum__analyse_odd(search, THRUM__NONE, model->end, odd, ODD_MAX);
	for (int i = 0; i < count; i++) {
		struct drain drain = {.model = model, .odd = odd[i]};

		if (try_odd(&drain, findings))
			return;
	}
}
