/* SPDX-License-Identifier: ISC */
/*
 * Tells in which system call a thread hangs that no adapter saw: `thrum record` looked at it from outside
 * (source/switches/calls.c). Such a call is a handle of the task that ran there. It is evidence for
 * findings about that task. By itself it is a finding only if the task has served an object again and
 * again, and that got something since, which nobody takes: a thread may rest in a call as long as it likes.
 */
#include <string.h>

#include "analyse/why/parts.h"

#define LONG 1000000000 /* ns in a call */
#define LOOK_BACK 256   /* edges that are searched, from the latest back */
#define SERVED_MIN 4    /* so often a task took something out of an object */
#define CALLS_MAX 64    /* `thrum record` tells no more */
#define LEFT_MIN 2      /* so often others signalled it since */

/* ---- Evidence ------------------------------------------------------------------------------ */

/* Adds the call behind the first step about its task, or about one that waits for the task. Returns whether
 * there is such a step. */
static bool add_to(struct thrum__finding *finding, uint32_t call, uint32_t task, int64_t since)
{
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];
		bool is_hog = step->kind == THRUM__STEP_HOGS && step->task == task;

		if (!is_hog && (step->kind != THRUM__STEP_WAITS_FOR || step->other != task))
			continue;
		if (thrum__why_add_step(finding, THRUM__STEP_PENDING, call, THRUM__NONE, since,
			    THRUM__NONE))
			thrum__why_move_last(finding, i + 1);
		return true;
	}
	return false;
}

/* ---- A finding of its own ------------------------------------------------------------------ */

/* Whether one may hang in a call, and hardly rests there. Others may give a lock back, or open a FIFO,
 * later. */
static bool is_hanging(const struct thrum__model *model, uint32_t call)
{
	return THRUM__BEGINS_WITH(model, call, "flock", "fcntl", "open", "openat", "write",
		"writev", "send", "connect", "fsync", "fdatasync", "syncfs");
}

/* Whether a task took things out of an object, and others put something in since it is in a call. */
static bool is_left(const struct thrum__model *model, uint32_t task, uint32_t object, int64_t since)
{
	unsigned taken = 0, put = 0;

	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (kind == THRUM__EDGE_SIGNAL && THRUM__EDGE(model, edge, time) > since &&
			from != task)
			put++;
		/* Somebody else takes what comes. */
		if (kind == THRUM__EDGE_READ && from != task)
			return false;
		taken += kind == THRUM__EDGE_READ && from == task;
	}
	return put >= LEFT_MIN && taken >= SERVED_MIN;
}

/* An object that a task serves no more since it is in a call; or NONE. */
static uint32_t left_by(const struct thrum__model *model, uint32_t task, int64_t since)
{
	uint32_t last = THRUM__NONE;

	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK / 4) {
		uint32_t object = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ || object == last ||
			!thrum__model_has_row(&model->tasks, object) ||
			!thrum__analyse_task_is_object(model, object))
			continue;
		if (is_left(model, task, object, since))
			return object;
		last = object;
	}
	return THRUM__NONE;
}

/* The latest edge of a task that tells where in the program it was; or NONE. */
static uint32_t last_place(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK / 4)
		if (thrum__model_edge_site(model, edge))
			return edge;
	return THRUM__NONE;
}

static void tell(struct thrum__search *search, uint32_t call, uint32_t task, int64_t since)
{
	const struct thrum__model *model = search->model;
	struct thrum__finding *finding;
	uint32_t object;

	/* One that ends by itself may leave a thread behind. */
	if (!is_hanging(model, call) || model->end - since < LONG ||
		model->ending != THRUM_ENDING_KILLED ||
		*thrum__cause(search, task) < search->findings->count)
		return;
	object = left_by(model, task, since);
	if (object == THRUM__NONE)
		return;
	finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
		thrum__why_certainty(search, THRUM__POSSIBLE, since), task);
	if (!finding)
		return;
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, call, since,
		last_place(model, task));
	thrum__why_add_step(finding, THRUM__STEP_READS_NO_MORE, task, object, since, THRUM__NONE);
	*thrum__cause(search, task) = search->findings->count - 1;
}

/* ---- All calls ----------------------------------------------------------------------------- */

static void look_at(struct thrum__search *search, uint32_t call)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__why_heir_of(model, THRUM__TASK(model, call, creator));
	int64_t since = THRUM__TASK(model, call, created);
	bool is_told = false;

	if (task == THRUM__NONE || !thrum__analyse_task_is_pending(model, task))
		return;
	for (uint32_t i = 0; i < search->findings->count; i++)
		is_told |= add_to(&search->findings->findings[i], call, task, since);
	if (!is_told)
		tell(search, call, task, since);
}

static bool is_of_calls(const struct thrum__model *model, uint32_t lane)
{
	uint32_t own = model->lanes[lane].task;

	return thrum__model_has_row(&model->tasks, own) &&
		strcmp(thrum__model_string(model, THRUM__TASK(model, own, name), NULL),
			THRUM__CALLS_LANE) == 0;
}

uint32_t thrum__why_calls(const struct thrum__model *model, uint32_t *calls, uint32_t room)
{
	uint32_t count = 0;
	bool is_any = false;

	for (uint32_t i = 0; i < model->lane_count && !is_any; i++)
		is_any = is_of_calls(model, i);
	if (!is_any)
		return 0;
	THRUM__EACH_TASK (model, call)
		if (count < room && THRUM__TASK(model, call, kind) == THRUM_KIND_HANDLE &&
			thrum__analyse_task_is_pending(model, call) &&
			THRUM__TASK(model, call, lane) < model->lane_count &&
			is_of_calls(model, THRUM__TASK(model, call, lane)))
			calls[count++] = call;
	return count;
}

int thrum__why_find_inside(struct thrum__search *search)
{
	uint32_t calls[CALLS_MAX], count = thrum__why_calls(search->model, calls, CALLS_MAX);

	for (uint32_t i = 0; i < count; i++)
		look_at(search, calls[i]);
	return 0;
}
