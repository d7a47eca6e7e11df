/* SPDX-License-Identifier: ISC */
/*
 * Tells which task is missing that lets others begin: one was there whenever a task like the leaf ran first,
 * such as an idle function that takes tasks from a queue. All of them have ended, and the leaf never ran.
 */
#include "analyse/why/unusual/unusual.h"

#define BEGUN_MIN 4 /* so many like the leaf ran while there was one */
#define MADE_MIN 2
#define MADE_MAX 64  /* of more, it would take too long to find out */
#define KEYS_MAX 4   /* so many sorts of tasks may have let the first one begin */
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

/* All tasks of one sort. */
struct beginners {
	uint32_t key, count, task[MADE_MAX];
};

static bool was_there(const struct thrum__model *model, uint32_t task, int64_t time)
{
	return THRUM__TASK(model, task, created) <= time && THRUM__TASK(model, task, end) >= time;
}

/* Whether a task may let others begin: it is like others, all of which have ended, and those that began
 * didn't make it. */
static bool may_begin(const struct thrum__search *search, uint32_t task, uint32_t leaf)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	uint32_t maker = THRUM__TASK(search->model, task, creator);

	if (thrum__model_has_row(&search->model->tasks, maker) &&
		kin_of(search, maker) == kin_of(search, leaf))
		return false;
	return peer && kin_of(search, task) != kin_of(search, leaf) && peer->pending == 0 &&
		peer->ended >= MADE_MIN && peer->ended <= MADE_MAX &&
		!thrum__analyse_task_is_object(search->model, task);
}

/* Finds the sorts of tasks that were there at a time. Returns how many there are. */
static uint32_t find_there(struct thrum__search *search, uint32_t leaf, int64_t time,
	struct beginners all[KEYS_MAX])
{
	uint32_t count = 0;

	THRUM__EACH_TASK (search->model, task) {
		uint32_t at = 0, key = thrum__why_peers_key(&search->peers, task);

		if (!was_there(search->model, task, time) || !may_begin(search, task, leaf))
			continue;
		while (at < count && all[at].key != key)
			at++;
		if (at == KEYS_MAX)
			return 0;
		all[at] = (struct beginners){.key = key};
		count = at == count ? count + 1 : count;
	}
	return count;
}

static void collect(const struct thrum__search *search, struct beginners *beginners)
{
	THRUM__EACH_TASK (search->model, task)
		if (thrum__why_peers_key(&search->peers, task) == beginners->key &&
			beginners->count < MADE_MAX)
			beginners->task[beginners->count++] = task;
}

/* Whether one was there when a task ran first. */
static bool began(const struct thrum__model *model, const struct beginners *beginners, int64_t time)
{
	for (uint32_t i = 0; i < beginners->count; i++)
		if (was_there(model, beginners->task[i], time))
			return true;
	return false;
}

/* Whether one was there whenever a task like the leaf ran first. */
static bool began_all(struct thrum__search *search, uint32_t leaf,
	const struct beginners *beginners)
{
	uint32_t begun = 0;

	THRUM__EACH_TASK (search->model, task) {
		int64_t time;

		if (kin_of(search, task) != kin_of(search, leaf))
			continue;
		time = first_run(search->model, task);
		if (time >= 0 && (search->budget == 0 || !began(search->model, beginners, time)))
			return false;
		search->budget -= time >= 0;
		begun += time >= 0;
	}
	return begun >= BEGUN_MIN;
}

/* When the first task like the leaf ran; -1: none did. */
static int64_t first_like(const struct thrum__search *search, uint32_t leaf)
{
	THRUM__EACH_TASK (search->model, task) {
		int64_t time = kin_of(search, task) == kin_of(search, leaf)
			? first_run(search->model, task)
			: -1;

		if (time >= 0)
			return time;
	}
	return -1;
}

uint32_t thrum__why_gone_beginner(struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	struct beginners all[KEYS_MAX];
	uint32_t count, found = THRUM__NONE;

	if (search->gap >= 0 || model->is_joined || !kin_of(search, leaf) ||
		THRUM__TASK(model, leaf, run) != THRUM__NONE ||
		thrum__analyse_task_is_object(model, leaf))
		return THRUM__NONE;
	count = find_there(search, leaf, first_like(search, leaf), all);
	for (uint32_t i = 0; i < count; i++) {
		collect(search, &all[i]);
		if (!began_all(search, leaf, &all[i]))
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = all[i].task[all[i].count - 1];
	}
	return found;
}
