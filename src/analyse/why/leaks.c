/* SPDX-License-Identifier: ISC */
/* Finds leaks: tasks that are alike, of which more and more are pending. */
#include <stdlib.h>

#include "analyse/why/parts.h"

#define LEAK_MIN 8 /* pending tasks, each more than twice as old as any of its peers became */
#define PARTS 4    /* of the time from `first` to `last`: more tasks must live after each part */

/* How the number of pending tasks with one peers' key grows. */
struct growth {
	int64_t first;           /* when the first task was created; at least model->forgotten */
	int64_t last;            /* when the last task was created */
	uint32_t live[PARTS];    /* tasks that live at the end of each part */
	uint32_t pending;        /* old pending tasks that no other finding explains */
	uint32_t oldest, newest; /* of these */
};

/* Whether tasks of this kind should end at all. Objects and threads live as long as their owner;
 * handles and timers may be pending for ever. */
static bool may_leak(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return !thrum__analyse_task_is_object(model, task) &&
		!thrum__analyse_task_is_lane(model, task) && kind != THRUM_KIND_HANDLE &&
		kind != THRUM_KIND_TIMER && kind != THRUM_KIND_THREAD;
}

/* The growth that a task counts in; NULL if the task can be part of no leak. */
static struct growth *growth_of(const struct thrum__search *search, struct growth *all,
	uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

	if (!peer || peer->pending < LEAK_MIN || !may_leak(search->model, task))
		return NULL;
	return &all[thrum__why_peers_key(&search->peers, task)];
}

static void count_live(const struct thrum__search *search, struct growth *growth, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t created = THRUM__TASK(model, task, created), end = THRUM__TASK(model, task, end);
	int64_t part = (growth->last - growth->first) / PARTS;

	for (int i = 0; i < PARTS; i++) {
		int64_t time = i == PARTS - 1 ? growth->last : growth->first + part * (i + 1);

		growth->live[i] += created <= time && end > time;
	}
	if (end != THRUM__OPEN || thrum__why_peers_is_young(&search->peers, task) ||
		*thrum__cause(search, task) < search->findings->count)
		return;
	if (growth->pending++ == 0)
		growth->oldest = task;
	growth->newest = task;
}

/* Adds a finding if this growth is a leak. */
static void add_leak(struct thrum__search *search, const struct growth *growth)
{
	const struct thrum__model *model = search->model;
	struct thrum__finding *finding;
	uint32_t grown = growth->live[PARTS - 1] - growth->live[PARTS - 2];

	/* Tasks that are all created at the start aren't growth. */
	if (growth->pending < LEAK_MIN ||
		growth->last - growth->first < (model->end - growth->first) / PARTS)
		return;
	for (int i = 1; i < PARTS; i++)
		if (growth->live[i] <= growth->live[i - 1])
			return;
	finding = thrum__why_add(search, THRUM__FINDING_LEAK,
		thrum__why_certainty(search,
			growth->pending >= 2 * LEAK_MIN && grown > 1 ? THRUM__LIKELY
								     : THRUM__POSSIBLE,
			growth->first),
		growth->oldest);
	if (!finding)
		return;
	finding->count = growth->pending;
	thrum__why_add_step(finding, THRUM__STEP_FIRST_PENDING, growth->oldest,
		thrum__why_known(model, THRUM__TASK(model, growth->oldest, creator)),
		THRUM__TASK(model, growth->oldest, created), THRUM__NONE);
	thrum__why_add_step(finding, THRUM__STEP_LAST_PENDING, growth->newest,
		thrum__why_known(model, THRUM__TASK(model, growth->newest, creator)),
		THRUM__TASK(model, growth->newest, created), THRUM__NONE);
}

int thrum__why_find_leaks(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	uint32_t keys = search->peers.keys.count;
	struct growth *all, *growth;

	all = calloc((size_t)keys + 1, sizeof *all);
	if (!all)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < keys; i++)
		all[i].first = THRUM__OPEN;
	for (uint32_t i = thrum__analyse_next_task(model, 0); i < model->tasks.count;
		i = thrum__analyse_next_task(model, i + 1)) {
		if (!thrum__model_has_row(&model->tasks, i)) {
			i |= THRUM__BLOCK_MASK;
			continue;
		}
		growth = growth_of(search, all, i);
		if (!growth)
			continue;
		int64_t created = THRUM__TASK(model, i, created);

		growth->first = created < growth->first ? created : growth->first;
		growth->last = created > growth->last ? created : growth->last;
	}
	/* Forgotten tasks lived before model->forgotten, so growth can be told only from then on. */
	for (uint32_t i = 0; i < keys; i++)
		if (all[i].first < model->forgotten)
			all[i].first = model->forgotten;
	for (uint32_t i = thrum__analyse_next_task(model, 0); i < model->tasks.count;
		i = thrum__analyse_next_task(model, i + 1))
		if (thrum__model_has_row(&model->tasks, i) && (growth = growth_of(search, all, i)))
			count_live(search, growth, i);
	for (uint32_t i = 0; i < keys; i++)
		add_leak(search, &all[i]);
	free(all);
	return 0;
}
