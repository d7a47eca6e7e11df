/* SPDX-License-Identifier: ISC */
/*
 * Finds the callback that broke its own chain. Each of its runs set a timer, which led to its next run, or
 * gave something to others. Its last run did neither, so the timer doesn't come any more, nor the callback: a
 * message of its sender is but an answer, or somebody has asked.
 */
#include "analyse/why/blame/blame.h"

#define ARMED_MIN 5     /* so many runs that set the timer show a chain */
#define RUNS_BACK 256   /* runs that are looked at, from the latest back */
#define NOTES_BACK 8192 /* notes, in the same way */
#define EDGES_BACK 64   /* edges of a task, in the same way */
#define LONG 1000000000 /* ns without a run, */
#define TIMES 20        /* and so many times as long as between any two runs */

/* Goes back over what a task did. */
struct deeds {
	const struct thrum__model *model;
	uint32_t run;        /* the one that is looked at */
	uint32_t edge, note; /* the next ones back */
	int notes;           /* that were looked at */
};

/* Whether the task gave something to others in the run. */
static bool has_given(struct deeds *deeds)
{
	const struct thrum__model *model = deeds->model;
	bool gave = false;

	while (thrum__model_has_row(&model->edges, deeds->edge) &&
		THRUM__EDGE(model, deeds->edge, time) >= THRUM__RUN(model, deeds->run, start)) {
		int kind = THRUM__EDGE(model, deeds->edge, kind);

		gave |= kind == THRUM__EDGE_SIGNAL || kind == THRUM__EDGE_LINK ||
			kind == THRUM__EDGE_RESOLVE;
		deeds->edge = THRUM__EDGE(model, deeds->edge, prev_out);
	}
	return gave;
}

/* The timer of the same loop that was set in the run; or NONE. */
static uint32_t timer_set(struct deeds *deeds)
{
	const struct thrum__model *model = deeds->model;
	uint32_t timer = THRUM__NONE;

	for (; deeds->note > model->notes.first && deeds->notes < NOTES_BACK; deeds->note--) {
		uint32_t note = deeds->note - 1, task;

		if (!thrum__model_has_row(&model->notes, note) ||
			THRUM__NOTE(model, note, time) < THRUM__RUN(model, deeds->run, start))
			break;
		deeds->notes++;
		task = THRUM__NOTE(model, note, task);
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE &&
			THRUM__NOTE(model, note, time) <= THRUM__RUN(model, deeds->run, end) &&
			thrum__model_has_row(&model->tasks, task) &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			THRUM__TASK(model, task, lane) == THRUM__RUN(model, deeds->run, lane))
			timer = task;
	}
	return timer;
}

/* Whether a timer ran between two runs, and wasn't set since. */
static bool has_run_out(const struct thrum__model *model, uint32_t timer, uint32_t before,
	uint32_t last)
{
	uint32_t run = THRUM__TASK(model, timer, run);
	int64_t start;

	if (!thrum__analyse_task_is_pending(model, timer) ||
		!thrum__model_has_row(&model->runs, run))
		return false;
	start = THRUM__RUN(model, run, start);
	return start > THRUM__RUN(model, before, start) && start < THRUM__RUN(model, last, start) &&
		thrum__why_due_of(model, timer) <= start;
}

/* Whether the latest message to a task came from one that has ended, or rests, but not for a time. So the
 * next one may only come as an answer. A message whose sender isn't known may come without a question. */
static bool is_left_alone(const struct thrum__model *model, uint32_t task)
{
	THRUM__ACTS_ON (model, task, edge, EDGES_BACK, THRUM__EDGE_LINK) {
		uint32_t from = thrum__why_known(model, THRUM__EDGE(model, edge, from));
		uint32_t lane = thrum__why_last_lane(model, from), rest;

		if (lane == THRUM__NONE || !thrum__analyse_task_is_pending(model, from))
			return from != THRUM__NONE;
		rest = thrum__why_resting(model, &model->lanes[lane]);
		return rest != THRUM__NONE &&
			!thrum__why_rests_for(model, rest, THRUM__REASON_BLOCKED_FOR_A_TIME) &&
			!thrum__why_rests_for(model, rest, THRUM__REASON_WORK_FOR_A_TIME);
	}
	return false;
}

bool thrum__why_add_unarmed(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_link *link, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	uint32_t task = servers->task[0], timer = THRUM__NONE, last, before, armed = 0;
	struct deeds deeds = {.model = model, .note = model->notes.count};
	int64_t next, longest = 0;

	if (search->gap >= 0 || servers->count != 1 ||
		!thrum__analyse_task_is_pending(model, task) ||
		THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE)
		return false;
	last = THRUM__TASK(model, task, run);
	if (!thrum__model_has_row(&model->runs, last) ||
		!thrum__why_is_without_effect(model, task) ||
		!(is_left_alone(model, task) || thrum__why_has_asked(model, link)))
		return false;
	before = THRUM__RUN(model, last, prev);
	deeds.edge = THRUM__TASK(model, task, edge_out);
	next = THRUM__RUN(model, last, start);
	for (int i = 0; i < RUNS_BACK && deeds.notes < NOTES_BACK; i++) {
		uint32_t set;

		deeds.run = i == 0 ? before : THRUM__RUN(model, deeds.run, prev);
		if (!thrum__model_has_row(&model->runs, deeds.run))
			break;
		set = timer_set(&deeds);
		if ((!has_given(&deeds) && set == THRUM__NONE) ||
			(set != THRUM__NONE && timer != THRUM__NONE && set != timer))
			return false;
		timer = set == THRUM__NONE ? timer : set;
		armed += set != THRUM__NONE;
		if (next - THRUM__RUN(model, deeds.run, start) > longest)
			longest = next - THRUM__RUN(model, deeds.run, start);
		next = THRUM__RUN(model, deeds.run, start);
	}
	next = THRUM__RUN(model, last, start);
	if (armed < ARMED_MIN || !has_run_out(model, timer, before, last) ||
		model->end - next < LONG || (model->end - next) / TIMES < longest)
		return false;
	if (finding)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_BEGINS_NONE, task,
					    timer, next, THRUM__NONE),
			armed);
	return true;
}
