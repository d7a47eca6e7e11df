/* SPDX-License-Identifier: ISC */
/*
 * Finds the turn of a loop that got a question over a connection and sent nothing. A thread of the same trace
 * asks, and waits for each answer before it asks again. The same handle answered all its other questions in
 * the turns that got them, and nothing else is under way.
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#define ANSWERS_MIN 3     /* so many show that each question has an answer */
#define EDGES_BACK 100000 /* edges of the thread that asks, from the latest back */
#define SOON 1000000      /* ns from a question to the turn that gets it */

/* The messages between the thread that asks and a loop. */
struct talk {
	const struct thrum__model *model;
	uint32_t asker, lane;
	uint32_t questions, answers;
	uint32_t own; /* answers of the handle that had the turn */
};

static bool is_link(const struct talk *talk, uint32_t edge, uint32_t other)
{
	const struct thrum__model *model = talk->model;

	return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK &&
		thrum__model_has_row(&model->tasks, other) &&
		thrum__why_last_lane(model, other) == talk->lane;
}

static void count_messages(struct talk *talk, uint32_t handle)
{
	const struct thrum__model *model = talk->model;
	uint32_t edge = THRUM__TASK(model, talk->asker, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, EDGES_BACK)
		talk->questions += is_link(talk, edge, THRUM__EDGE(model, edge, to));
	edge = THRUM__TASK(model, talk->asker, edge_in);
	THRUM__EDGES_BACK (model, edge, prev_in, EDGES_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		talk->answers += is_link(talk, edge, from);
		talk->own += is_link(talk, edge, from) && from == handle;
	}
}

/* The run on a lane that got a question at a time: a callback's that reads by itself, or the next one. */
static uint32_t turn_for(const struct thrum__model *model, const struct thrum__awaited *awaited,
	uint32_t lane)
{
	uint32_t run;

	if (THRUM__TASK(model, awaited->server, kind) != THRUM_KIND_THREAD) {
		run = THRUM__TASK(model, awaited->server, run);
		return thrum__model_has_row(&model->runs, run) &&
				THRUM__RUN(model, run, start) <= awaited->asked
			? run
			: THRUM__NONE;
	}
	for (run = thrum__analyse_run_from(model, awaited->asked);
		thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, start) - awaited->asked < SOON;
		run++)
		if (THRUM__RUN(model, run, lane) == lane &&
			THRUM__RUN(model, run, task) != awaited->server)
			return run;
	return THRUM__NONE;
}

/* Whether a time is set for anything in the program: it may be to answer. */
static bool is_any_due(const struct thrum__model *model)
{
	THRUM__EACH_TASK (model, task)
		if (thrum__analyse_task_is_pending(model, task) &&
			(thrum__why_due_of(model, task) >= 0 ||
				THRUM__TASK(model, task, flags) & THRUM__TASK_DUE))
			return true;
	return false;
}

static bool is_silent_turn(const struct thrum__model *model, uint32_t handle,
	const struct thrum__awaited *awaited, struct thrum__step *step)
{
	struct talk talk = {.model = model, .asker = THRUM__TASK(model, handle, creator)};
	uint32_t lane = thrum__why_last_lane(model, awaited->server), turn, task;

	if (lane == THRUM__NONE || !thrum__model_has_row(&model->tasks, talk.asker) ||
		THRUM__TASK(model, talk.asker, kind) != THRUM_KIND_THREAD ||
		!thrum__why_rests_for(model, thrum__why_resting(model, &model->lanes[lane]),
			THRUM__REASON_WORK))
		return false;
	turn = turn_for(model, awaited, lane);
	task = turn == THRUM__NONE ? THRUM__NONE
				   : thrum__why_known(model, THRUM__RUN(model, turn, task));
	if (task == THRUM__NONE || THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE ||
		THRUM__TASK(model, task, run) != turn ||
		!thrum__analyse_task_is_pending(model, task) ||
		!*thrum__model_task_name(model, task, NULL) ||
		!thrum__why_is_without_effect(model, task))
		return false;
	talk.lane = lane;
	count_messages(&talk, task);
	*step = (struct thrum__step){.kind = THRUM__STEP_LEAVES_OUT,
		.task = task,
		.other = handle,
		.time = THRUM__RUN(model, turn, start),
		.edge = THRUM__NONE,
		.more = talk.own};
	return talk.own >= ANSWERS_MIN && talk.own == talk.answers &&
		talk.answers + 1 == talk.questions;
}

bool thrum__why_no_reply(const struct thrum__search *search, uint32_t handle,
	struct thrum__step *step)
{
	const struct thrum__model *model = search->model;
	struct thrum__awaited awaited;

	if (!search->is_still || search->gap >= 0 ||
		THRUM__TASK(model, handle, kind) != THRUM_KIND_HANDLE)
		return false;
	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, handle, i)) != THRUM__NONE;)
		if (thrum__model_awaited(model, i, &awaited) &&
			thrum__analyse_task_is_pending(model, awaited.server) &&
			model->end - awaited.asked >= THRUM__SOON_OUTSIDE &&
			is_silent_turn(model, handle, &awaited, step))
			return thrum__why_is_all_at_rest(model) && !is_any_due(model);
	return false;
}
