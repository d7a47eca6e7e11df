/* SPDX-License-Identifier: ISC */
/* Counts tries that came to nothing. After many of them, the next one is no excuse for the one that tries. */
#include "analyse/why/excuses/excuses.h"

#define BACK 8192    /* tasks that are searched for tries, from the latest back */
#define AGE 50000000 /* ns; younger victims have not tried for long */
#define PEERS_MIN 3
#define LATE 10 /* so many times as long as its family lived, a chain of tries goes on */

/* Whether the path's tasks made a task or waited for it. */
static bool is_try(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	if (thrum__analyse_task_is_object(model, task) ||
		thrum__analyse_task_is_lane(model, task) ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER)
		return false;
	if (thrum__why_is_on_path(search, THRUM__TASK(model, task, creator)))
		return true;
	THRUM__EDGES_TO (model, task, edge, 16)
		if (thrum__why_is_on_path(search, THRUM__EDGE(model, edge, from)))
			return true;
	return false;
}

/* Counts how often a task that a link awaits became another at the same call site as now, if it lives far
 * longer than others of its family did with all that they became. Sets *first to it. */
static uint32_t count_rounds(const struct thrum__search *search, const struct thrum__why_link *link,
	uint32_t *first)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = link->wait.edge, now = link->wait.on, task, rounds = 0;
	const struct thrum__peer *family;

	if (link->is_served || edge == THRUM__NONE)
		return 0;
	*first = task = THRUM__EDGE(model, edge, to);
	if (!thrum__model_has_row(&model->tasks, task) || task == now)
		return 0;
	family = thrum__why_peers_family(&search->peers, task);
	if (!family || family->ended < PEERS_MIN ||
		(model->end - THRUM__TASK(model, task, created)) / LATE <= family->longest)
		return 0;
	for (unsigned i = 0; i < BACK && task != now && thrum__model_has_row(&model->tasks, task);
		i++, task = THRUM__TASK(model, task, became))
		rounds += THRUM__TASK(model, task, site) == THRUM__TASK(model, now, site);
	return rounds;
}

/* Counts the tries of which none fails, but each becomes the next. */
static void count_retries(const struct thrum__search *search, struct thrum__why_path *path)
{
	for (uint32_t i = 0; i < path->length && path->tries == 0; i++) {
		uint32_t rounds = count_rounds(search, &path->links[i], &path->tried);

		path->tries = rounds >= THRUM__TRIES_MIN ? rounds : 0;
	}
	path->is_soon |= path->tries > 0; /* the next may succeed */
}

void thrum__why_count_tries(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t task = model->tasks.count, key = THRUM__NONE, failed = 0;
	int64_t since = THRUM__TASK(model, path->victim, created);

	if (model->end - since < AGE)
		return;
	for (unsigned i = 0; i < BACK && search->budget > 0 && task-- > model->tasks.first;
		i++, search->budget--) {
		int state;

		if (!thrum__model_has_row(&model->tasks, task))
			continue;
		if (THRUM__TASK(model, task, created) < since)
			break;
		state = THRUM__TASK(model, task, state);
		/* A cancelled task, such as a timeout that wasn't needed, tells nothing. */
		if ((state != THRUM__STATE_RESOLVED && state != THRUM__STATE_FAILED) ||
			(key != THRUM__NONE && thrum__why_peers_key(&search->peers, task) != key) ||
			!is_try(search, task))
			continue;
		if (state == THRUM__STATE_RESOLVED) {
			if (key != THRUM__NONE)
				break;
			continue;
		}
		if (key == THRUM__NONE) {
			key = thrum__why_peers_key(&search->peers, task);
			path->tried = task;
		}
		failed += key != THRUM__NONE;
	}
	path->tries = failed >= THRUM__TRIES_MIN ? failed : 0;
	if (path->tries == 0)
		count_retries(search, path);
}
