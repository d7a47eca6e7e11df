/* SPDX-License-Identifier: ISC */
/*
 * Tells where slots of a loop were lost, if nothing else was found: connections or permits that a turn took
 * over from the one before, and that a few turns didn't give on. Each of these began none like those that
 * nearly all others began; many others came before each of them, and since the last one nothing was begun. Or
 * the last request of the loop failed, and began nothing. Somebody must wait for the loop.
 */
#include <string.h>

#include "analyse/why/blame/blame.h"

#define ODD_MAX 8       /* series that are looked at */
#define LOST_MIN 2      /* slots: one turn that left something out proves little, */
#define APART_MIN 2     /* and so do turns one after the other: the work may have come to its end */
#define ANSWERS_MIN 3   /* so often the loop answered before */
#define EDGES_BACK 256  /* edges of a task, from the latest back */
#define TURNS_MIN 8     /* of a timer, */
#define IDLE 1000000000 /* in these ns before the end: an idle program's timers come less often */

struct drain {
	const struct thrum__model *model;
	struct thrum__odd odd; /* count is 0 if a request failed */
	uint32_t failed;       /* the request, or NONE */
	uint32_t lane;
	int64_t time; /* of the latest turn */
};

/* A thread that waits for the loop. */
struct victim {
	uint32_t task, on;
	int64_t since;
	uint32_t edge;
};

/* The lane on which a task ran last; NONE: it isn't known. */
static uint32_t lane_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t run;

	if (!thrum__model_has_row(&model->tasks, task))
		return THRUM__NONE;
	run = THRUM__TASK(model, task, run);
	return thrum__model_has_row(&model->runs, run) ? THRUM__RUN(model, run, lane) : THRUM__NONE;
}

/* ---- Waiters --------------------------------------------------------------------------------- */

/* When the loop got the question whose answer a thread awaits from a connection; -1: it got none. */
static int64_t asked_over_connection(const struct drain *drain, uint32_t handle)
{
	const struct thrum__model *model = drain->model;
	struct thrum__awaited awaited;

	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, handle, i)) != THRUM__NONE;)
		if (thrum__model_awaited(model, i, &awaited) &&
			thrum__analyse_task_is_pending(model, awaited.server) &&
			lane_of(model, awaited.server) == drain->lane)
			return awaited.asked;
	return -1;
}

/* How often the loop's turns signalled an object; 0 if anybody else did. */
static unsigned count_answers(const struct drain *drain, uint32_t object)
{
	const struct thrum__model *model = drain->model;
	uint32_t edge = THRUM__TASK(model, object, edge_in);
	unsigned count = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, EDGES_BACK) {
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		if (lane_of(model, THRUM__EDGE(model, edge, from)) != drain->lane)
			return 0;
		count++;
	}
	return count;
}

/* When a thread asked the loop last, before it waited for an object: it made a handle ready there since it
 * got the last answer. -1: it didn't. */
static int64_t asked_by_wake_up(const struct drain *drain, const struct victim *victim)
{
	const struct thrum__model *model = drain->model;
	uint32_t edge = THRUM__TASK(model, victim->task, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, EDGES_BACK) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ)
			return -1;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY &&
			lane_of(model, THRUM__EDGE(model, edge, to)) == drain->lane)
			return THRUM__EDGE(model, edge, time);
	}
	return -1;
}

/* ---- Lost slots ------------------------------------------------------------------------------ */

/* Whether a turn was the last of its task, but for the one in which it was closed. */
static bool is_last_turn(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t run = THRUM__TASK(model, task, run);

	if (thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) > time &&
		!thrum__analyse_task_is_pending(model, task))
		run = THRUM__RUN(model, run, prev);
	return thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) <= time;
}

/* Whether each task of the series has come to its end so: all slots are lost. */
static bool are_all_lost(const struct drain *drain)
{
	const struct thrum__model *model = drain->model;
	const struct thrum__odd *odd = &drain->odd;
	uint32_t count = 0;

	for (uint32_t i = 0; i < odd->count; i++)
		if (!is_last_turn(model, odd->task[i], odd->time[i]))
			return false;
	for (uint32_t task = thrum__analyse_next_task(model, 0); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1))
		count += THRUM__TASK(model, task, kind) == THRUM__TASK(model, odd->task[0], kind) &&
			lane_of(model, task) == drain->lane &&
			thrum__why_are_named_alike(model, odd->task[0], task);
	return count == odd->count;
}

/* Whether a thread hangs by it. Nobody but the program gives its first thread a job, which then needs no
 * question. */
static bool is_stuck(const struct drain *drain, const struct victim *victim)
{
	const struct thrum__model *model = drain->model;
	int64_t asked;

	switch (THRUM__TASK(model, victim->on, kind)) {
	case THRUM_KIND_HANDLE: asked = asked_over_connection(drain, victim->on); break;
	case THRUM_KIND_CONDITION:
	case THRUM_KIND_SEMAPHORE:
		if (count_answers(drain, victim->on) < ANSWERS_MIN)
			return false;
		asked = asked_by_wake_up(drain, victim);
		if (asked < 0 && drain->failed == THRUM__NONE)
			return victim->task == model->lanes[0].task && are_all_lost(drain);
		break;
	default: return false;
	}
	return drain->failed == THRUM__NONE ? asked > drain->time
					    : asked >= 0 && asked <= drain->time;
}

/* Finds a thread that waits for the loop. */
static bool find_victim(const struct drain *drain, struct victim *victim)
{
	const struct thrum__model *model = drain->model;
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t task = thrum__why_heir_of(model,
			thrum__why_task_of_lane(&model->lanes[i]));

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

/* Whether something may still end the wait: a timer that is to come, such as that of another try, or an
 * answer to a request of the loop. */
static bool is_under_way(const struct drain *drain)
{
	const struct thrum__model *model = drain->model;

	for (uint32_t task = thrum__analyse_next_task(model, 0); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1)) {
		if (!thrum__analyse_task_is_pending(model, task))
			continue;
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER
				? may_come(model, task, drain->time)
				: THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST &&
					THRUM__TASK(model, task, lane) == drain->lane)
			return true;
	}
	return false;
}

/* Whether anybody sent a message into the program: then others may be asked, and slow. */
static bool has_outside(const struct thrum__model *model)
{
	struct thrum__message message;

	for (uint32_t i = 0; i < thrum__model_message_count(model); i++)
		if (thrum__model_message_from_outside(model, i, &message))
			return true;
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
	if (drain->failed != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_FAILED_MEANWHILE, drain->failed,
			THRUM__NONE, drain->time,
			thrum__why_edge_to(drain->model, drain->failed, THRUM__EDGE_FAIL));
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, victim->task, victim->on, victim->since,
		victim->edge);
}

static bool try_odd(struct drain *drain, struct thrum__findings *findings)
{
	struct victim victim;

	if (drain->odd.effect != THRUM__EFFECT_BEGINS || drain->odd.count < LOST_MIN ||
		drain->odd.apart < APART_MIN)
		return false;
	drain->lane = lane_of(drain->model, drain->odd.task[0]);
	drain->time = drain->odd.time[0];
	if (drain->lane == THRUM__NONE || !find_victim(drain, &victim) || is_under_way(drain))
		return false;
	tell(drain, &victim, findings);
	return true;
}

static bool try_failed(const struct thrum__model *model, uint32_t lane,
	struct thrum__findings *findings)
{
	struct drain drain = {.model = model,
		.failed = thrum__why_failed_last(model, lane),
		.lane = lane};
	struct victim victim;

	if (drain.failed == THRUM__NONE)
		return false;
	drain.time = THRUM__TASK(model, drain.failed, end);
	if (!find_victim(&drain, &victim) || is_under_way(&drain))
		return false;
	tell(&drain, &victim, findings);
	return true;
}

void thrum__why_add_drained(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	const struct thrum__model *model = search->model;
	struct thrum__search state = {.model = model};
	struct thrum__odd odd[ODD_MAX];
	int count;

	thrum__why_find_silence(&state);
	if (findings->count > 0 || !state.is_still || has_outside(model))
		return;
	count = thrum__analyse_odd(search, THRUM__NONE, model->end, odd, ODD_MAX);
	for (int i = 0; i < count; i++) {
		struct drain drain = {.model = model, .odd = odd[i], .failed = THRUM__NONE};

		if (try_odd(&drain, findings))
			return;
	}
	for (uint32_t lane = 0; lane < model->lane_count; lane++)
		if (try_failed(model, lane, findings))
			return;
}
