/* SPDX-License-Identifier: ISC */
/*
 * Tells which task is missing that lets others begin: one was there whenever a task like the leaf ran first,
 * such as an idle function that takes tasks from a queue. All of them have ended, and the leaf never ran.
 */
#include "analyse/why/unusual/unusual.h"

#define BEGUN_MIN 4 /* so many like the leaf ran while there was one */
#define MADE_MIN 2
#define MADE_MAX 64  /* of more, it would take too long to find out */
#define KEYS_MAX 8   /* so many sorts of tasks there may be that let others begin */
#define RUNS_BACK 64 /* of a task; its first run isn't known if it had more */

/* The counts of a task's like, by the first word of their labels if these differ; NULL: it has none. */
static const struct thrum__peer *kin_of(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__peer *family = thrum__why_peers_family(&search->peers, task);

	return family ? family : thrum__why_peers_of(&search->peers, task);
}

/* When a task ran first; -1: it never did; OPEN: that isn't known. */
static int64_t first_run(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);
	int64_t start = -1;

	for (int i = 0; run != THRUM__NONE; i++, run = THRUM__RUN(model, run, prev)) {
		if (i == RUNS_BACK || !thrum__model_has_row(&model->runs, run))
			return THRUM__OPEN;
		start = THRUM__RUN(model, run, start);
	}
	return start;
}

/* Whether a task is like the leaf. */
static bool is_kin(const struct thrum__search *search, uint32_t task, uint32_t leaf)
{
	return kin_of(search, task) == kin_of(search, leaf);
}

/* All tasks of one sort. */
struct beginners {
	uint32_t key, count, task[MADE_MAX];
};

/* Whether a task may let others begin: it is like others, all of which have ended, and those that began
 * didn't make it. */
static bool may_begin(const struct thrum__search *search, uint32_t task, uint32_t leaf)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	uint32_t maker = THRUM__TASK(search->model, task, creator);

	return peer && !is_kin(search, task, leaf) && peer->pending == 0 &&
		peer->ended >= MADE_MIN && peer->ended <= MADE_MAX &&
		!thrum__analyse_task_is_object(search->model, task) &&
		!(thrum__model_has_row(&search->model->tasks, maker) &&
			is_kin(search, maker, leaf));
}

/* Adds a task to those of its sort. Returns false if there are too many sorts. */
static bool add(const struct thrum__search *search, uint32_t task, struct beginners all[KEYS_MAX])
{
	uint32_t at = 0, key = thrum__why_peers_key(&search->peers, task);

	while (at < KEYS_MAX && all[at].count > 0 && all[at].key != key)
		at++;
	if (at == KEYS_MAX || all[at].count == MADE_MAX)
		return false;
	all[at].key = key;
	all[at].task[all[at].count++] = task;
	return true;
}

/* Whether one of them was there at a time. */
static bool was_there(const struct thrum__model *model, const struct beginners *beginners,
	int64_t time)
{
	for (uint32_t i = 0; i < beginners->count; i++)
		if (THRUM__TASK(model, beginners->task[i], created) <= time &&
			THRUM__TASK(model, beginners->task[i], end) >= time)
			return true;
	return false;
}

/* Whether one was there whenever a task like the leaf ran first. */
static bool began_all(const struct thrum__search *search, uint32_t leaf,
	const struct beginners *beginners)
{
	uint32_t begun = 0;

	THRUM__EACH_TASK (search->model, task) {
		int64_t time = is_kin(search, task, leaf) ? first_run(search->model, task) : -1;

		if (time >= 0 && !was_there(search->model, beginners, time))
			return false;
		begun += time >= 0;
	}
	return begun >= BEGUN_MIN;
}

uint32_t thrum__why_gone_beginner(struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	struct beginners all[KEYS_MAX] = {{0}};
	uint32_t found = THRUM__NONE;

	if (search->gap >= 0 || model->is_joined || !kin_of(search, leaf) ||
		THRUM__TASK(model, leaf, run) != THRUM__NONE ||
		thrum__analyse_task_is_object(model, leaf) ||
		!thrum__why_spend(search, model->tasks.count))
		return THRUM__NONE;
	THRUM__EACH_TASK (model, task)
		if (may_begin(search, task, leaf) && !add(search, task, all))
			return THRUM__NONE;
	for (uint32_t i = 0; i < KEYS_MAX && all[i].count > 0; i++) {
		if (!began_all(search, leaf, &all[i]))
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = all[i].task[all[i].count - 1];
	}
	return found;
}
