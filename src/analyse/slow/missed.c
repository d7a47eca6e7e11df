/* SPDX-License-Identifier: ISC */
/* Finds the signal that came before a wait, which then lasted until its time-out. */
#include "analyse/graph.h"
#include "analyse/slow/answer.h"

#define HOPS_MAX 4 /* from a timer to the choice between it and a condition */
#define USUAL_PART \
	8 /* of a condition's signals may be unheard; of more, the program lives with it */
#define HEARD_MIN 2    /* signals tell that tasks wait for them */
#define LOOK_BACK 4096 /* edges of a condition or a task */

/* A wait for a condition that was given up. */
struct given_up {
	uint32_t condition; /* NONE: there is none */
	int64_t since;
};

/* The first task that waited for this one, or NONE. */
static uint32_t first_waiter(const struct thrum__model *model, uint32_t task)
{
	uint32_t waiter = THRUM__NONE;

	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_WAIT)
		waiter = THRUM__EDGE(model, edge, from);
	return thrum__model_has_row(&model->tasks, waiter) ? waiter : THRUM__NONE;
}

/* The condition for which a task waits alone, or itself if it is one; with the time of that wait. */
static struct given_up condition_of(const struct thrum__model *model, uint32_t task, int64_t since)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out), on = task;

	if (THRUM__TASK(model, task, kind) != THRUM_KIND_CONDITION &&
		thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT) {
		on = THRUM__EDGE(model, edge, to);
		since = THRUM__EDGE(model, edge, time);
	}
	return thrum__model_has_row(&model->tasks, on) &&
			THRUM__TASK(model, on, kind) == THRUM_KIND_CONDITION
		? (struct given_up){on, since}
		: (struct given_up){THRUM__NONE, 0};
}

/* The condition for which a task waited beside a timer, and gave that up when the timer came at `due`. */
static struct given_up beside(const struct thrum__model *model, uint32_t waiter, int64_t due)
{
	THRUM__EDGES_FROM (model, waiter, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		struct given_up wait;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
			THRUM__EDGE(model, edge, time) >= due ||
			!thrum__model_has_row(&model->tasks, to) ||
			(THRUM__TASK(model, to, kind) != THRUM_KIND_CONDITION &&
				(THRUM__TASK(model, to, state) != THRUM__STATE_CANCELLED ||
					THRUM__TASK(model, to, end) < due)))
			continue;
		wait = condition_of(model, to, THRUM__EDGE(model, edge, time));
		if (wait.condition != THRUM__NONE)
			return wait;
	}
	return (struct given_up){THRUM__NONE, 0};
}

static struct given_up given_up_for(const struct thrum__model *model, uint32_t timer)
{
	struct given_up wait = {THRUM__NONE, 0};
	uint32_t waiter = timer;

	if (!thrum__model_has_row(&model->tasks, timer) ||
		THRUM__TASK(model, timer, kind) != THRUM_KIND_TIMER ||
		THRUM__TASK(model, timer, state) != THRUM__STATE_RESOLVED)
		return wait;
	for (int i = 0; i < HOPS_MAX && wait.condition == THRUM__NONE; i++) {
		waiter = first_waiter(model, waiter);
		if (waiter == THRUM__NONE || THRUM__TASK(model, waiter, kind) == THRUM_KIND_JOIN)
			break;
		wait = beside(model, waiter, THRUM__TASK(model, timer, end));
	}
	return wait;
}

/* The last signal before a wait, if nobody heard it, no other came until `due`, and nearly all others were
 * heard; or NONE. */
static uint32_t missed_signal(const struct thrum__model *model, struct given_up wait, int64_t due)
{
	uint32_t missed = THRUM__NONE;
	unsigned heard = 0, unheard = 0;

	THRUM__ACTS_ON (model, wait.condition, edge, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (time > wait.since && time <= due)
			return THRUM__NONE;
		if (thrum__model_waiters(model, edge) != 0)
			heard++;
		else
			unheard++;
		if (time > wait.since || missed != THRUM__NONE)
			continue;
		if (thrum__model_waiters(model, edge) != 0)
			return THRUM__NONE;
		missed = edge;
	}
	return heard >= HEARD_MIN && (unheard - 1) * USUAL_PART <= heard ? missed : THRUM__NONE;
}

bool thrum__slow_missed_find(const struct thrum__slow_answer *answer,
	struct thrum__slow_missed *missed)
{
	const struct thrum__model *model = answer->model;

	for (uint32_t i = 0; i < answer->cause.count && !model->is_mirage; i++) {
		uint32_t timer = answer->cause.links[i].task, signal;
		struct given_up wait = given_up_for(model, timer);

		if (wait.condition == THRUM__NONE)
			continue;
		signal = missed_signal(model, wait, THRUM__TASK(model, timer, end));
		if (signal == THRUM__NONE || THRUM__EDGE(model, signal, time) < answer->path.from ||
			!thrum__model_has_row(&model->tasks, THRUM__EDGE(model, signal, from)))
			continue;
		*missed = (struct thrum__slow_missed){.condition = wait.condition,
			.by = thrum__analyse_task_known_as(model, THRUM__EDGE(model, signal, from)),
			.before = wait.since - THRUM__EDGE(model, signal, time)};
		return true;
	}
	return false;
}
