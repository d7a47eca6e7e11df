/* SPDX-License-Identifier: ISC */
/*
 * Tells since when the leaf is left out. A task ended one of the leaf's name, or signalled it, and served
 * others in the same round; so it was in round after round. Now the others are served without it. If a task
 * came first of its kind just before the first such round, that one is told, too.
 */
#include "analyse/why/unusual/unusual.h"

#define ROUNDS_MIN 4 /* so many rounds with both show that they belong together, */
#define SINCE_MIN 4  /* and so many rounds without the leaf that it is left out */
#define NEAR 64      /* edges beside the last service that may be of its round */

struct rounds {
	const struct thrum__model *model;
	uint32_t leaf, name; /* tasks of the leaf's name come one after the other */
	uint32_t like; /* the name of another one that was served in its last round; 0: none */
	uint32_t last,
		from; /* the edge by which the last of its name was served, or NONE; by whom */
	uint32_t before, since,
		first; /* rounds with both; rounds without it, and the first of these */
};

/* The name of the task or object that another one served by an edge, if it was made where the leaf was; 0: it
 * has none, or wasn't. */
static uint32_t served_by(const struct rounds *rounds, uint32_t edge)
{
	const struct thrum__model *model = rounds->model;
	int kind = THRUM__EDGE(model, edge, kind);
	uint32_t to = THRUM__EDGE(model, edge, to);

	return (kind == THRUM__EDGE_SIGNAL || kind == THRUM__EDGE_RESOLVE) &&
			thrum__model_has_row(&model->tasks, to) &&
			THRUM__TASK(model, to, site) == THRUM__TASK(model, rounds->leaf, site)
		? THRUM__TASK(model, to, name)
		: 0;
}

/* Counts the services of the leaf, and of the one like it since the first of those. Until that one is known,
 * finds the leaf's last service. Returns whether each had one in each round. */
static bool count(struct rounds *rounds)
{
	const struct thrum__model *model = rounds->model;
	uint32_t likes = 0, both = 0, edge = model->edges.count;

	while (edge-- > model->edges.first) {
		uint32_t name = served_by(rounds, edge);

		if (name == rounds->name) {
			if (rounds->like == 0) {
				rounds->last = edge;
				rounds->from = THRUM__EDGE(model, edge, from);
				return true;
			}
			rounds->before++;
			both = likes;
		} else if (name != 0 && name == rounds->like) {
			likes++;
			if (edge > rounds->last && THRUM__EDGE(model, edge, from) != rounds->from) {
				rounds->since++;
				rounds->first = edge;
			}
		}
	}
	both -= rounds->since;
	return both <= rounds->before && both + 1 >= rounds->before;
}

/* Whether the leaf is left out since some round. */
static bool find_rounds(struct thrum__search *search, struct rounds *rounds)
{
	const struct thrum__model *model = rounds->model;
	uint32_t edge;

	rounds->name = THRUM__TASK(model, rounds->leaf, name);
	rounds->last = THRUM__NONE;
	if (search->gap >= 0 || model->is_joined || model->is_cut || rounds->name == 0 ||
		!thrum__why_spend(search, 2 * (uint32_t)model->edges.count) || !count(rounds) ||
		rounds->last == THRUM__NONE)
		return false;
	edge = rounds->last + NEAR < model->edges.count ? rounds->last + NEAR : model->edges.count;
	while (edge-- > model->edges.first && edge + NEAR > rounds->last) {
		uint32_t name = served_by(rounds, edge);

		if (name != 0 && name != rounds->name &&
			THRUM__EDGE(model, edge, from) == rounds->from)
			rounds->like = name;
	}
	return rounds->like != 0 && count(rounds) && rounds->before >= ROUNDS_MIN &&
		rounds->since >= SINCE_MIN;
}

/* Whether a task is the first of its kind. */
static bool is_new(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	if (!*thrum__model_task_name(model, task, NULL) ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER)
		return false;
	for (uint32_t other = model->tasks.first; other < task; other++)
		if (!thrum__why_spend(search, 1) ||
			(thrum__model_has_row(&model->tasks, other) &&
				thrum__why_is_alike(search, task, other)))
			return false;
	return true;
}

/* The first task that is new between the leaf's last round and the one after it; or NONE. */
static uint32_t came_between(struct thrum__search *search, const struct rounds *rounds)
{
	const struct thrum__model *model = rounds->model;
	uint32_t task = thrum__analyse_task_from(model, THRUM__EDGE(model, rounds->last, time) + 1);

	while (thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, created) <= THRUM__EDGE(model, rounds->first, time)) {
		if (is_new(search, task))
			return task;
		task++;
	}
	return THRUM__NONE;
}

bool thrum__why_add_passed_over(struct thrum__finding *finding, struct thrum__search *search,
	uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	struct rounds rounds = {.model = model, .leaf = leaf};
	uint32_t task;

	if (!find_rounds(search, &rounds))
		return false;
	if (!finding)
		return true;
	task = came_between(search, &rounds);
	if (task != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_COMES_BETWEEN, task, leaf,
			THRUM__TASK(model, task, created), THRUM__NONE);
	thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_PASSES_OVER,
				    thrum__why_actor(model, rounds.first), leaf, rounds.first),
		rounds.before);
	return true;
}
