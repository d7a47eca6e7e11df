/* SPDX-License-Identifier: ISC */
/*
 * Tells for which end a task waited that did nothing since, though it has had turns: so nobody came back to
 * it. All others like it that waited for such ends did something after they had begun to wait.
 */
#include "analyse/why/unusual/unusual.h"
#include "base/time.h"

#define OTHERS_MIN 4 /* so many waits show that such tasks go on */
#define LATE_TIMES 4 /* so many times as long as any other took, this one did nothing */

/* The others that waited in the same way. */
struct others {
	uint32_t went_on;
	int64_t longest; /* ns from such an end to the next that its waiter did */
};

/* The wait, an edge, that was the last thing that a task did, if the task for which it waited has ended. */
static uint32_t last_wait(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out), to;
	uint32_t note = THRUM__TASK(model, task, note);

	if (!thrum__model_has_row(&model->edges, edge) ||
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
		thrum__analyse_task_is_lane(model, task))
		return THRUM__NONE;
	to = THRUM__EDGE(model, edge, to);
	if (!thrum__model_has_row(&model->tasks, to) || thrum__analyse_task_is_object(model, to) ||
		THRUM__TASK(model, to, state) != THRUM__STATE_RESOLVED ||
		THRUM__TASK(model, to, end) < THRUM__EDGE(model, edge, time) ||
		!*thrum__model_task_name(model, to, NULL) ||
		(thrum__model_has_row(&model->notes, note) &&
			THRUM__NOTE(model, note, time) > THRUM__EDGE(model, edge, time)))
		return THRUM__NONE;
	return edge;
}

/* Whether a task made others after an edge. Also if that isn't known. */
static bool has_made(struct thrum__search *search, uint32_t task, uint32_t edge)
{
	const struct thrum__model *model = search->model;
	uint32_t other = model->tasks.count;

	while (other-- > model->tasks.first &&
		(!thrum__model_has_row(&model->tasks, other) ||
			THRUM__TASK(model, other, created) >= THRUM__EDGE(model, edge, time)))
		if (!thrum__why_spend(search, 1) ||
			(thrum__model_has_row(&model->tasks, other) &&
				THRUM__TASK(model, other, creator) == task))
			return true;
	return false;
}

/* Adds another wait. Returns false if its waiter did nothing since, either. */
static bool add_other(const struct thrum__model *model, uint32_t edge, uint32_t next,
	struct others *others)
{
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);
	int64_t end = THRUM__TASK(model, to, end), then;

	if (thrum__analyse_task_is_pending(model, to))
		return true;
	if (next == THRUM__NONE && thrum__analyse_task_is_pending(model, from))
		return false;
	then = next == THRUM__NONE ? THRUM__TASK(model, from, end) : THRUM__EDGE(model, next, time);
	others->went_on++;
	if (then > end && then - end > others->longest)
		others->longest = then - end;
	return true;
}

/* Looks at the waits of one task like the leaf for tasks like the one for which the leaf waited. */
static bool add_waits_of(struct thrum__search *search, uint32_t task, uint32_t wait,
	struct others *others)
{
	const struct thrum__model *model = search->model;
	uint32_t source = THRUM__EDGE(model, wait, to), next = THRUM__NONE;
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (; thrum__model_has_row(&model->edges, edge);
		next = edge, edge = THRUM__EDGE(model, edge, prev_out)) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (!thrum__why_spend(search, 1))
			return false;
		if (edge != wait && THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, to) &&
			thrum__why_is_alike(search, source, to) &&
			!add_other(model, edge, next, others))
			return false;
	}
	return true;
}

/* The task for which the leaf waited, if all others that waited so went on, and this one has done nothing for
 * far longer. NONE: that isn't so. */
static uint32_t unnoticed_end(struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	uint32_t wait = last_wait(model, leaf), source;
	struct others others = {0};
	int64_t end;

	if (wait == THRUM__NONE || search->gap >= 0 || model->is_joined ||
		THRUM__TASK(model, leaf, became) != THRUM__NONE)
		return THRUM__NONE;
	source = THRUM__EDGE(model, wait, to);
	end = THRUM__TASK(model, source, end);
	if (thrum__why_is_recent(model, end) || has_made(search, leaf, wait))
		return THRUM__NONE;
	THRUM__EACH_TASK (model, task)
		if (!thrum__why_spend(search, 1) ||
			(thrum__why_is_alike(search, leaf, task) &&
				!add_waits_of(search, task, wait, &others)))
			return THRUM__NONE;
	return others.went_on >= OTHERS_MIN &&
			thrum__base_time_between(end, model->end) / LATE_TIMES > others.longest
		? source
		: THRUM__NONE;
}

bool thrum__why_add_unnoticed_end(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t task = unnoticed_end(search, path->leaf);

	if (task == THRUM__NONE)
		return false;
	thrum__why_add_end(finding, search->model, THRUM__STEP_ENDED_UNNOTICED, task, path->leaf);
	return true;
}
