/* SPDX-License-Identifier: ISC */
/*
 * Tells since when the leaf is left out. A task ended one of the leaf's name, or signalled it, and served
 * others in the same round; so it was in round after round. Now the others are served without it. If a task
 * came first of its kind just before the first such round, that one is told, too.
 */
#include "analyse/label.h"
#include "analyse/why/unusual/unusual.h"
#include "base/hash.h"

#define ROUNDS_MIN 4 /* so many rounds with both show that they belong together, */
#define SINCE_MIN 4  /* and so many rounds without the leaf that it is left out */
#define ENDED_MIN 8  /* so many others that ended show how long they take */
#define NEAR 64      /* edges beside the last service that may be of its round */

struct rounds {
	const struct thrum__model *model;
	uint32_t leaf, name; /* tasks of its name, but for numbers, come one after the other */
	uint32_t like; /* the name of another one that was served in its last round; 0: none */
	uint32_t last, from;    /* the edge that served the last of its name, or NONE; by whom */
	uint32_t before, since; /* rounds with both, and without it */
	uint32_t first, next;   /* the first two of the latter */
};

/* Stands for a task's name, but for its numbers; 0: it has none. */
static uint32_t name_of(const struct thrum__model *model, uint32_t task)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];
	size_t size;
	const char *name = thrum__model_task_name(model, task, &size);
	uint32_t hash = THRUM__HASH_START;

	size = thrum__analyse_label_pattern(name, size, pattern);
	for (size_t i = 0; i < size; i++)
		hash = thrum__base_hash_byte(hash, (unsigned char)pattern[i]);
	return size > 0 ? hash : 0;
}

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
		? name_of(model, to)
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
			/* A thread may serve round after round itself. */
			if (edge > rounds->last &&
				(THRUM__EDGE(model, edge, from) != rounds->from ||
					thrum__analyse_task_is_lane(model, rounds->from))) {
				rounds->since++;
				rounds->next = rounds->first;
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

	rounds->name = name_of(model, rounds->leaf);
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

/* The first task that is new between two times; or NONE. */
static uint32_t came_between(struct thrum__search *search, int64_t from, int64_t to)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__analyse_task_from(model, from + 1);

	while (thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, created) <= to) {
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
	task = came_between(search, THRUM__EDGE(model, rounds.last, time),
		THRUM__EDGE(model, rounds.next, time));
	if (task != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_COMES_BETWEEN, task, leaf,
			THRUM__TASK(model, task, created), THRUM__NONE);
	thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_PASSES_OVER,
				    thrum__analyse_task_known_as(model,
					    THRUM__EDGE(model, rounds.first, from)),
				    leaf, rounds.first),
		rounds.before);
	return true;
}

bool thrum__why_add_newcomer(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, path->leaf);
	int64_t made = THRUM__TASK(model, path->leaf, created);
	uint32_t task;

	if (search->gap >= 0 || model->is_joined || model->is_cut || !peer ||
		peer->ended < ENDED_MIN || thrum__why_ends_by_itself(model, path->leaf))
		return false;
	task = came_between(search, made, made + peer->longest);
	if (task == THRUM__NONE || THRUM__TASK(model, task, creator) == path->leaf)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_COMES_BETWEEN, task,
				    path->leaf, THRUM__TASK(model, task, created), THRUM__NONE),
		1);
	return true;
}
