/* SPDX-License-Identifier: ISC */
/* Finds those like a leaf, and how they ended. */
#include "analyse/why/losses/likes.h"

#define SOME 4       /* one of so many signals may come from elsewhere */
#define RUNS_BACK 64 /* runs before a signal */

static void find_tasks(struct thrum__likes *likes)
{
	struct thrum__search *search = likes->search;
	const struct thrum__model *model = search->model;

	for (uint32_t at = model->tasks.count;
		at-- > model->tasks.first && likes->count < THRUM__LIKES_MOST && search->budget > 0;
		search->budget--) {
		uint32_t by;

		if (!thrum__model_has_row(&model->tasks, at) || at == likes->leaf ||
			THRUM__TASK(model, at, state) != THRUM__STATE_RESOLVED ||
			!thrum__why_is_alike(search, likes->leaf, at))
			continue;
		by = thrum__why_edge_to(model, at, THRUM__EDGE_RESOLVE);
		if (by == THRUM__NONE || THRUM__EDGE(model, by, from) == at)
			continue;
		likes->all[likes->count++] = (struct thrum__like){at, by,
			THRUM__TASK(model, at, created), THRUM__TASK(model, at, end)};
	}
}

/* The task that ran before a signal, in the same turn of the thread that gave it; or the one that gave
 * it. NONE: there is none. */
static uint32_t ran_before(const struct thrum__model *model, uint32_t signal)
{
	uint32_t by = thrum__why_actor(model, signal);
	int64_t from = THRUM__EDGE(model, signal, time);
	uint32_t row = thrum__analyse_run_from(model, from + 1), lane;

	if (by == THRUM__NONE || !thrum__analyse_task_is_lane(model, by))
		return by;
	lane = THRUM__TASK(model, by, lane);
	for (int i = 0; i < RUNS_BACK && row-- > model->runs.first; i++) {
		if (!thrum__model_has_row(&model->runs, row))
			return THRUM__NONE;
		if (THRUM__RUN(model, row, lane) != lane)
			continue;
		if (THRUM__RUN(model, row, end) < from)
			return THRUM__NONE; /* the thread rested then */
		if (THRUM__RUN(model, row, task) != by)
			return thrum__why_known(model, THRUM__RUN(model, row, task));
		from = THRUM__RUN(model, row, start);
	}
	return THRUM__NONE;
}

/* The same for an object: its signals, if few came from elsewhere. */
static void find_signals(struct thrum__likes *likes)
{
	const struct thrum__model *model = likes->search->model;
	uint32_t edge = THRUM__TASK(model, likes->leaf, edge_in), others = 0;

	for (; thrum__model_has_row(&model->edges, edge) && likes->count < THRUM__LIKES_MOST;
		edge = THRUM__EDGE(model, edge, prev_in)) {
		struct thrum__like like = {.by = edge, .until = THRUM__EDGE(model, edge, time)};

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		like.task = ran_before(model, edge);
		if (like.task == THRUM__NONE)
			others++;
		else
			likes->all[likes->count++] = like;
	}
	if (others > likes->count / SOME)
		likes->count = 0;
}

void thrum__why_find_likes(struct thrum__likes *likes)
{
	if (thrum__analyse_task_is_object(likes->search->model, likes->leaf))
		find_signals(likes);
	else
		find_tasks(likes);
}
