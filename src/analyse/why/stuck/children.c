/* SPDX-License-Identifier: ISC */
/*
 * Tells for which of its children a task waits, though the program doesn't say so: the child is pending,
 * and in the lives of others like the task such children always ended first.
 */
#include "analyse/why/stuck/stuck.h"

#define AFTER 2048   /* tasks created after a task that are searched for its children */
#define LIKE_MIN 3   /* so many others show that such children end first */
#define LIKE_MOST 32 /* of them that are looked at, from the latest back */

/* Whether a task is work that another one may wait for. */
static bool is_work(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_TASK:
	case THRUM_KIND_PROMISE:
	case THRUM_KIND_FIBER:
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER: return *thrum__model_task_name(model, task, NULL);
	default: return false;
	}
}

/* The first child of a task, from a row on, that does work and is like another task; if that is NONE, one
 * that is pending. NONE: there is none. */
static uint32_t next_child(struct thrum__search *search, uint32_t task, uint32_t from,
	uint32_t like)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = from; i < model->tasks.count && i - task < AFTER && search->budget > 0;
		i++) {
		search->budget--;
		if (thrum__model_has_row(&model->tasks, i) &&
			THRUM__TASK(model, i, creator) == task && is_work(model, i) &&
			(like == THRUM__NONE ? thrum__analyse_task_is_pending(model, i)
					     : thrum__why_is_alike(search, like, i)))
			return i;
	}
	return THRUM__NONE;
}

/* Whether a task says that it waits for its child, or the child outlived it. */
static bool is_told_or_left(const struct thrum__model *model, uint32_t task, uint32_t child)
{
	if (THRUM__TASK(model, child, end) > THRUM__TASK(model, task, end))
		return true;
	THRUM__ACTS_ON (model, child, edge, LIKE_MOST, THRUM__EDGE_WAIT)
		return true;
	return false;
}

uint32_t thrum__why_open_child(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t child = THRUM__NONE, count = 0, looked = 0;

	if (search->gap < 0)
		child = next_child(search, task, task + 1, THRUM__NONE);
	if (child == THRUM__NONE || is_told_or_left(model, task, child))
		return THRUM__NONE;
	for (uint32_t at = model->tasks.count; looked < LIKE_MOST &&
		(at = thrum__why_resolved_like(search, task, at)) != THRUM__NONE;
		looked++) {
		uint32_t other = next_child(search, at, at + 1, child);

		count += other != THRUM__NONE;
		for (; other != THRUM__NONE; other = next_child(search, at, other + 1, child))
			if (is_told_or_left(model, at, other))
				return THRUM__NONE;
	}
	return count >= LIKE_MIN && search->budget > 0 ? child : THRUM__NONE;
}
