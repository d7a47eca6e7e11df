/* SPDX-License-Identifier: ISC */
/*
 * Tells which run left a task pending, if nothing else was found: each run like it ended one like that task,
 * and nothing is left that could end this one. All that still goes on are timers that came round since.
 */
#include "analyse/why/blame/blame.h"

#define ODD_MAX 8       /* series that are looked at */
#define ENDED_MIN 8     /* so many runs that ended one show that each should */
#define LONG 1000000000 /* ns; a task that was left for less may yet be ended, */
#define LOOK_BACK 8     /* edges of a thread that are searched for one before that run */
#define TIMES 20        /* or for less than so many times as long as its like lived */

struct loss {
	const struct thrum__model *model;
	const struct thrum__odd *odd;
	int64_t time;  /* of the run */
	uint32_t lane; /* the same */
	uint32_t task; /* the only task that was left, or NONE */
};

/* Whether the program itself ends such a task, and no thread, lock or timer. */
static bool may_end(const struct loss *loss)
{
	int kind = THRUM__TASK(loss->model, loss->odd->on, kind);

	return kind == THRUM_KIND_PROMISE || kind == THRUM_KIND_TASK || kind == THRUM_KIND_ASYNC;
}

/* Whether a pending task may lead to the end of the one that was left: it began since, or it is a handle that
 * called back before, or may do so in the loop of the run. only_ticks knows the others. */
static bool may_help(const struct loss *loss, uint32_t task)
{
	const struct thrum__model *model = loss->model;
	int kind = THRUM__TASK(model, task, kind);

	return (kind != THRUM_KIND_TIMER && THRUM__TASK(model, task, created) >= loss->time) ||
		(kind == THRUM_KIND_HANDLE &&
			(THRUM__TASK(model, task, run) != THRUM__NONE ||
				thrum__why_last_lane(model, task) == loss->lane));
}

/* Whether a task is like those that the other runs ended. */
static bool is_like(const struct loss *loss, uint32_t task)
{
	const struct thrum__model *model = loss->model;
	uint32_t on = loss->odd->on;

	return THRUM__TASK(model, task, kind) == THRUM__TASK(model, on, kind) &&
		THRUM__TASK(model, task, site) == THRUM__TASK(model, on, site) &&
		thrum__why_are_named_alike(model, on, task);
}

/* Finds the task that was left. Returns false if there are several, or none, or it may yet be ended. */
static bool find_left(struct loss *loss)
{
	const struct thrum__model *model = loss->model;

	THRUM__EACH_TASK (model, task) {
		int64_t end = THRUM__TASK(model, task, end);

		if (thrum__analyse_task_is_pending(model, task)) {
			if (may_help(loss, task))
				return false;
			if (!is_like(loss, task))
				continue;
			if (loss->task != THRUM__NONE)
				return false;
			loss->task = task;
		} else if (is_like(loss, task) &&
			(end > loss->time ||
				end - THRUM__TASK(model, task, created) >=
					(model->end - loss->time) / TIMES)) {
			return false;
		}
	}
	return loss->task != THRUM__NONE;
}

/* Whether a thread has waited since that run. It may have told its wait anew, as threads do that look. */
static bool has_waited(const struct loss *loss, const struct thrum__lane *lane)
{
	const struct thrum__model *model = loss->model;

	if (THRUM__SUSPENSION(model, lane->suspended, start) <= loss->time)
		return true;
	THRUM__EDGES_FROM (model, thrum__why_task_of_lane(lane), edge, LOOK_BACK) {
		if (THRUM__EDGE(model, edge, time) <= loss->time)
			return thrum__why_rests_for(model, lane->suspended, THRUM__REASON_BLOCKED);
		/* Another one may receive its message later. */
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LINK)
			return false;
	}
	return false;
}

/* Whether the loop of the run waits for work, and all other threads have waited since before that run: so it
 * handed nothing on. */
static bool is_at_rest(const struct loss *loss)
{
	const struct thrum__model *model = loss->model;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];

		if (thrum__analyse_task_is_pending(model, lane->task) &&
			(lane->suspended == THRUM__NONE ||
				!(i == loss->lane ? thrum__why_rests_for(model, lane->suspended,
							    THRUM__REASON_WORK)
						  : has_waited(loss, lane))))
			return false;
	}
	return true;
}

static bool is_lost(struct loss *loss)
{
	const struct thrum__odd *odd = loss->odd;

	return odd->effect == THRUM__EFFECT_ENDS && odd->given == THRUM__EFFECT_NONE &&
		odd->count == 1 && odd->with >= ENDED_MIN && may_end(loss) &&
		!thrum__analyse_task_is_pending(loss->model, odd->task[0]) &&
		loss->lane != THRUM__NONE && is_at_rest(loss) && find_left(loss) &&
		thrum__why_only_ticks(loss->model, loss->time);
}

void thrum__why_add_unended(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	const struct thrum__model *model = search->model;
	struct thrum__odd odd[ODD_MAX];
	int count;

	if (findings->count > 0 || model->is_joined || !thrum__why_only_ticks(model, 0))
		return;
	count = thrum__analyse_odd(search, THRUM__NONE, model->end - LONG, odd, ODD_MAX);
	for (int i = 0; i < count && findings->count == 0; i++) {
		uint32_t task = odd[i].task[0];
		struct loss loss = {model, &odd[i], odd[i].time[0],
			thrum__why_last_lane(model, task), THRUM__NONE};
		struct thrum__finding *finding = findings->findings;

		if (!is_lost(&loss))
			continue;
		*finding = (struct thrum__finding){
			.class = THRUM__FINDING_NEVER_RESOLVED,
			.certainty = THRUM__POSSIBLE,
			.task = loss.task,
			.until = model->end,
		};
		thrum__why_add_end(finding, model, THRUM__STEP_ENDS_WITHOUT, task, loss.task);
		thrum__why_add_step(finding, THRUM__STEP_NEVER_RESOLVED, loss.task, THRUM__NONE,
			THRUM__TASK(model, loss.task, created), THRUM__NONE);
		findings->count = 1;
	}
}
