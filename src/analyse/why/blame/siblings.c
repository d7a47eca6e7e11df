/* SPDX-License-Identifier: ISC */
/*
 * Tells who should end a task by what was made next to it: its like were ended by the task that their maker
 * made just after them, or by one that this became. So the answer to a request ends the request's turn.
 */
#include "analyse/why/blame/blame.h"

#define NEAR 16       /* tasks made after a task that are searched for the one that ends it */
#define BACK 4096     /* tasks that are searched for its like, from the latest back */
#define LIKE_MIN 3    /* so many of its like show who ends them */
#define LIKE_MAX 8    /* so many are looked at */
#define BECAME_MAX 16 /* tasks that became one another */

/* The first of the tasks that became this one, each of which made the next. */
static uint32_t origin_of(const struct thrum__model *model, uint32_t task)
{
	for (int i = 0; i < BECAME_MAX; i++) {
		uint32_t maker = THRUM__TASK(model, task, creator);

		if (!thrum__model_has_row(&model->tasks, maker) ||
			THRUM__TASK(model, maker, state) != THRUM__STATE_BECAME ||
			thrum__model_heir(model, maker) != thrum__model_heir(model, task))
			break;
		task = maker;
	}
	return task;
}

/* The first task with a key that the maker of a task made after it, and before another one of its sort; or
 * NONE. */
static uint32_t next_sibling(const struct thrum__search *search, uint32_t task, uint32_t key)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = task + 1; i < model->tasks.count && i - task <= NEAR; i++) {
		if (!thrum__model_has_row(&model->tasks, i) ||
			THRUM__TASK(model, i, creator) != THRUM__TASK(model, task, creator))
			continue;
		if (thrum__why_peers_key(&search->peers, i) == key)
			return i;
		if (THRUM__TASK(model, i, kind) == THRUM__TASK(model, task, kind) &&
			THRUM__TASK(model, i, site) == THRUM__TASK(model, task, site))
			break;
	}
	return THRUM__NONE;
}

/* Whether a task, which has resolved, was ended by such a sibling. Sets the key if it is NONE. */
static bool is_ended_by_next(const struct thrum__search *search, uint32_t task, uint32_t *key)
{
	const struct thrum__model *model = search->model;
	uint32_t ender = thrum__why_actor_to(model, task, THRUM__EDGE_RESOLVE), origin;

	if (ender == THRUM__NONE || ender == task || thrum__analyse_task_is_lane(model, ender))
		return false;
	origin = origin_of(model, ender);
	if (*key == THRUM__NONE)
		*key = thrum__why_peers_key(&search->peers, origin);
	return *key != THRUM__NONE && next_sibling(search, task, *key) == origin;
}

uint32_t thrum__why_sibling_ender(struct thrum__search *search, uint32_t task, uint32_t *usual)
{
	const struct thrum__model *model = search->model;
	uint32_t own = thrum__why_peers_key(&search->peers, task), key = THRUM__NONE, like = 0;
	uint32_t sample = THRUM__NONE, found;

	if (own == THRUM__NONE || search->gap >= 0 ||
		!thrum__model_has_row(&model->tasks, THRUM__TASK(model, task, creator)))
		return THRUM__NONE;
	for (uint32_t i = task; i-- > model->tasks.first && task - i < BACK && like < LIKE_MAX;) {
		if (!thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (!thrum__model_has_row(&model->tasks, i) ||
			thrum__why_peers_key(&search->peers, i) != own ||
			thrum__analyse_task_is_pending(model, i))
			continue;
		if (THRUM__TASK(model, i, state) != THRUM__STATE_RESOLVED ||
			!is_ended_by_next(search, i, &key))
			return THRUM__NONE;
		sample = i;
		like++;
	}
	if (like < LIKE_MIN)
		return THRUM__NONE;
	found = next_sibling(search, task, key);
	if (found == THRUM__NONE)
		*usual = thrum__why_actor_to(model, sample, THRUM__EDGE_RESOLVE);
	return found;
}
