/* SPDX-License-Identifier: ISC */
/*
 * Tells that the leaf came at an unusual time. It was made while others made in the same place were ended one
 * after the other; none of those that ended was. So a list that is emptied after a walk may have lost it. Or
 * it never ran, and those that were made later in the same place did.
 */
#include "analyse/why/unusual/unusual.h"

#define LIKE_MIN 4     /* so many others that ended, or ran, show what is usual */
#define AFTER_MIN 4    /* so many of them were made later */
#define LIKE_MOST 4096 /* others that are looked at */
#define WINDOW 32      /* those made just before one, to which it is compared */

/* The tasks made where the leaf was, the oldest first. */
struct likes {
	const struct thrum__model *model;
	uint32_t leaf, count;
	uint32_t before[WINDOW]; /* the latest, by their number modulo WINDOW */
};

static bool is_like(const struct thrum__model *model, uint32_t leaf, uint32_t task)
{
	return THRUM__TASK(model, task, site) == THRUM__TASK(model, leaf, site) &&
		THRUM__TASK(model, task, kind) == THRUM__TASK(model, leaf, kind);
}

/* Whether a task was made while others like it were ended: when one had ended, another one that was there
 * already ended only later. */
static bool is_amid(const struct likes *likes, uint32_t task)
{
	const struct thrum__model *model = likes->model;
	int64_t made = THRUM__TASK(model, task, created), last = -1;
	uint32_t count = likes->count < WINDOW ? likes->count : WINDOW;

	for (uint32_t i = 0; i < count; i++) {
		int64_t end = THRUM__TASK(model, likes->before[i], end);

		last = end <= made && end > last ? end : last;
	}
	for (uint32_t i = 0; i < count; i++)
		if (THRUM__TASK(model, likes->before[i], created) < last &&
			THRUM__TASK(model, likes->before[i], end) > made &&
			!thrum__analyse_task_is_pending(model, likes->before[i]))
			return true;
	return false;
}

bool thrum__why_add_amid(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct likes likes = {.model = model, .leaf = path->leaf};
	uint32_t ended = 0, later = 0, ran = 0, first = THRUM__NONE;
	bool is_odd = true, all_ran = true;

	if (search->gap >= 0 || model->is_joined || model->is_cut ||
		THRUM__TASK(model, path->leaf, site) == 0 ||
		thrum__why_ends_by_itself(model, path->leaf) ||
		thrum__analyse_task_is_object(model, path->leaf) ||
		!thrum__why_spend(search, model->tasks.count))
		return false;
	THRUM__EACH_TASK (model, task) {
		bool has_ended, has_run = THRUM__TASK(model, task, run) != THRUM__NONE;

		if (!is_like(model, path->leaf, task))
			continue;
		if (likes.count > LIKE_MOST)
			return false;
		has_ended = !thrum__analyse_task_is_pending(model, task);
		if (task == path->leaf || has_ended)
			is_odd &= is_amid(&likes, task) == (task == path->leaf);
		all_ran &= task == path->leaf ? !has_run : has_run || !has_ended;
		ended += has_ended;
		later += has_ended && task > path->leaf;
		if (task > path->leaf && has_run && ran++ == 0)
			first = task;
		likes.before[likes.count++ % WINDOW] = task;
	}
	if (is_odd && ended >= LIKE_MIN && later >= AFTER_MIN)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_MADE_AMID, path->leaf,
					    THRUM__NONE, THRUM__TASK(model, path->leaf, created),
					    THRUM__NONE),
			ended);
	else if (all_ran && ended >= LIKE_MIN && ran > AFTER_MIN)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_OVERTAKES, first,
					    path->leaf, THRUM__TASK(model, first, created),
					    THRUM__NONE),
			ran - 1);
	else
		return false;
	return true;
}
