/* SPDX-License-Identifier: ISC */
/*
 * Tells who should have ended a task that waits for nothing. Its peers show it: each of them was
 * ended by a task that stands in the same relation to it.
 */
#include "analyse/why/stuck/stuck.h"

#include <string.h>

#define AFTER 2048   /* tasks created after a task that are searched for the one that ends it */
#define BEFORE 256   /* the same before it */
#define LOOK_BACK 64 /* edges to a task that are searched, from the latest back */
#define PEERS_MIN 3  /* so many peers show who ends a task */

/* The latest edge of a kind that leads to a task, or NONE. */
static uint32_t edge_to(const struct thrum__model *model, uint32_t task, int kind)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge); i++) {
		if (THRUM__EDGE(model, edge, kind) == kind)
			return edge;
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return THRUM__NONE;
}

/* The first number in a task's name; -1: there is none. */
static int64_t number_of(const struct thrum__model *model, uint32_t task)
{
	const char *name = thrum__model_task_name(model, task, NULL);
	int64_t number = 0;

	name += strcspn(name, "0123456789");
	if (!*name)
		return -1;
	for (; *name >= '0' && *name <= '9' && number < INT64_MAX / 16; name++)
		number = number * 10 + (*name - '0');
	return number;
}

/* ---- The relation -------------------------------------------------------------------------- */

/* How a task stands to the one that ended it. */
struct relation {
	uint32_t key; /* the peers' key of the one that ended it */
	bool is_child, is_sibling, has_number;
};

static struct relation relation_of(const struct thrum__search *search, uint32_t sample,
	uint32_t ender)
{
	const struct thrum__model *model = search->model;
	uint32_t creator = THRUM__TASK(model, ender, creator);
	int64_t number = number_of(model, sample);

	return (struct relation){
		.key = thrum__why_peers_key(&search->peers, ender),
		.is_child = creator == sample,
		.is_sibling = creator != THRUM__NONE &&
			creator == THRUM__TASK(model, sample, creator),
		.has_number = number >= 0 && number == number_of(model, ender),
	};
}

/* How well a task fits the relation: 0 for not at all. */
static int fitness(const struct thrum__search *search, const struct relation *relation,
	uint32_t task, uint32_t candidate)
{
	const struct thrum__model *model = search->model;
	uint32_t creator = THRUM__TASK(model, candidate, creator);

	if (candidate == task || thrum__why_peers_key(&search->peers, candidate) != relation->key)
		return 0;
	if (relation->has_number)
		return number_of(model, candidate) == number_of(model, task) ? 3 : 0;
	if (relation->is_child)
		return creator == task ? 3 : 0;
	if (!relation->is_sibling || creator != THRUM__TASK(model, task, creator))
		return 0;
	/* Threads create tasks for many others. */
	return thrum__model_has_row(&model->tasks, creator) &&
			thrum__analyse_task_is_lane(model, creator)
		? 0
		: 2;
}

/* The task that fits best among those created near a task, or NONE. */
static uint32_t find_fitting(struct thrum__search *search, const struct relation *relation,
	uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE;
	uint32_t from = task > BEFORE ? task - BEFORE : 0;
	int best = 0;

	for (uint32_t i = from; i < model->tasks.count && i - from < BEFORE + AFTER; i++) {
		int fits;

		if (search->budget == 0)
			break;
		search->budget--;
		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		fits = fitness(search, relation, task, i);
		if (fits > best) {
			best = fits;
			found = i;
		}
	}
	return found;
}

uint32_t thrum__why_ender_of(struct thrum__search *search, uint32_t task, uint32_t *usual)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	struct relation relation;
	uint32_t edge, ender, found;

	*usual = THRUM__NONE;
	if (!peer || peer->ended < PEERS_MIN || !thrum__model_has_row(&model->tasks, peer->sample))
		return THRUM__NONE;
	edge = edge_to(model, peer->sample, THRUM__EDGE_RESOLVE);
	ender = edge == THRUM__NONE ? edge : THRUM__EDGE(model, edge, from);
	if (!thrum__model_has_row(&model->tasks, ender) || ender == peer->sample ||
		thrum__analyse_task_is_lane(model, ender))
		return THRUM__NONE;
	if (ender == THRUM__TASK(model, peer->sample, creator)) {
		found = THRUM__TASK(model, task, creator);
		return thrum__model_has_row(&model->tasks, found) &&
				!thrum__analyse_task_is_lane(model, found) && found != task
			? found
			: THRUM__NONE;
	}
	relation = relation_of(search, peer->sample, ender);
	if (relation.key == THRUM__NONE ||
		(!relation.is_child && !relation.is_sibling && !relation.has_number))
		return THRUM__NONE;
	found = find_fitting(search, &relation, task);
	/* Only then it is known that there is none. */
	if (found == THRUM__NONE && search->budget > 0 &&
		(relation.is_child || relation.has_number) && search->gap < 0 &&
		!thrum__analyse_task_is_lane(model, ender))
		*usual = ender;
	return found;
}

/* ---- Blame --------------------------------------------------------------------------------- */

/* The step that blames a task which has ended for not having ended `other`. */
static struct thrum__why_blame blame_ended(const struct thrum__model *model, uint32_t task,
	uint32_t other)
{
	switch (THRUM__TASK(model, task, state)) {
	case THRUM__STATE_CANCELLED:
		return (struct thrum__why_blame){THRUM__STEP_CANCELLED, task, other};
	case THRUM__STATE_FAILED: return (struct thrum__why_blame){THRUM__STEP_FAILED, task, other};
	default: return (struct thrum__why_blame){THRUM__STEP_ENDS_WITHOUT, task, other};
	}
}

/* A task that failed or was cancelled and whose end nobody read: the task's own child, or another
 * child of its creator. NONE if none was by the time `before`. */
static uint32_t failed_relative(struct thrum__search *search, uint32_t task, int64_t before)
{
	const struct thrum__model *model = search->model;
	uint32_t creator = THRUM__TASK(model, task, creator);
	bool has_family = thrum__model_has_row(&model->tasks, creator) &&
		!thrum__analyse_task_is_lane(model, creator);

	for (uint32_t i = task + 1; i < model->tasks.count && i - task < AFTER; i++) {
		uint32_t by;

		if (search->budget == 0)
			break;
		search->budget--;
		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		by = THRUM__TASK(model, i, creator);
		if ((by == task || (has_family && by == creator)) &&
			THRUM__TASK(model, i, end) < before &&
			(THRUM__TASK(model, i, state) == THRUM__STATE_FAILED ||
				THRUM__TASK(model, i, state) == THRUM__STATE_CANCELLED) &&
			edge_to(model, i, THRUM__EDGE_READ) == THRUM__NONE)
			return i;
	}
	return THRUM__NONE;
}

/* Whether a task, or the last one that it became, had ended by then. */
static bool has_ended(const struct thrum__model *model, uint32_t task, int64_t before)
{
	task = thrum__model_heir(model, task);
	return THRUM__TASK(model, task, state) != THRUM__STATE_PENDING &&
		THRUM__TASK(model, task, end) < before;
}

struct thrum__why_blame thrum__why_blame(struct thrum__search *search, uint32_t task,
	int64_t before)
{
	const struct thrum__model *model = search->model;
	uint32_t usual, ender = thrum__why_ender_of(search, task, &usual);
	uint32_t maker = THRUM__TASK(model, task, creator);

	if (ender != THRUM__NONE && has_ended(model, ender, before))
		return blame_ended(model, thrum__model_heir(model, ender), task);
	if (ender == THRUM__NONE && usual != THRUM__NONE)
		return (struct thrum__why_blame){THRUM__STEP_NOT_STARTED, task, usual};
	ender = failed_relative(search, task, before);
	if (ender != THRUM__NONE)
		return blame_ended(model, ender, task);
	if (thrum__model_has_row(&model->tasks, maker) &&
		!thrum__analyse_task_is_lane(model, maker) &&
		THRUM__TASK(model, maker, end) < before &&
		THRUM__TASK(model, maker, state) != THRUM__STATE_BECAME &&
		*thrum__model_task_name(model, maker, NULL))
		return (struct thrum__why_blame){THRUM__TASK(model, maker, state) ==
					THRUM__STATE_RESOLVED
				? THRUM__STEP_MAKER_ENDED
				: blame_ended(model, maker, task).kind,
			maker, task};
	return (struct thrum__why_blame){-1, THRUM__NONE, THRUM__NONE};
}

void thrum__why_add_blame(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_blame *blame)
{
	uint32_t edge = THRUM__NONE, other = blame->other;
	int64_t time;

	if (blame->kind < 0)
		return;
	time = THRUM__TASK(model, blame->task, end);
	switch (blame->kind) {
	case THRUM__STEP_CANCELLED:
	case THRUM__STEP_FAILED:
		edge = edge_to(model, blame->task,
			blame->kind == THRUM__STEP_FAILED ? THRUM__EDGE_FAIL : THRUM__EDGE_CANCEL);
		other = edge == THRUM__NONE
			? THRUM__NONE
			: thrum__why_known(model, THRUM__EDGE(model, edge, from));
		break;
	case THRUM__STEP_NOT_STARTED: time = THRUM__TASK(model, blame->task, created); break;
	default: break;
	}
	thrum__why_add_step(finding, blame->kind, blame->task, other, time, edge);
}
