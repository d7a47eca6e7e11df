/* SPDX-License-Identifier: ISC */
/*
 * Tells which thread ended and left a task behind: the task was made ready and never ran, those like it ran
 * on that thread, and all other threads where its like ran have rested for so long that they won't take it.
 */
#include "analyse/why/blame/blame.h"

#define LANES 64     /* more threads that ran the like are not told apart */
#define RUNS_MIN 4   /* so many of its like ran, */
#define LEFT_MIN 2   /* and so many of them on the thread that ended */
#define TIMES 2      /* as long as any of its like waited to run, a thread rests beside it */
#define LOOK_BACK 64 /* edges to a task that are searched, from the latest back */

/* When a task was made ready last before a time; -1: it wasn't. */
static int64_t ready_at(const struct thrum__model *model, uint32_t task, int64_t before)
{
	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_READY)
		if (THRUM__EDGE(model, edge, time) <= before)
			return THRUM__EDGE(model, edge, time);
	return -1;
}

/* Where the like of a task ran first. */
struct like {
	uint32_t runs[LANES], all;
	int64_t longest; /* that one of them was ready before it ran */
};

/* Returns false if that isn't known, or the search takes too long. */
static bool find_like(struct thrum__search *search, uint32_t task, struct like *like)
{
	const struct thrum__model *model = search->model;

	*like = (struct like){.all = 0};
	for (uint32_t run = model->runs.first; run < model->runs.count; run++) {
		uint32_t other;
		int64_t ready;

		if (!thrum__model_has_row(&model->runs, run) || !thrum__why_spend(search, 1))
			return false;
		other = THRUM__RUN(model, run, task);
		if (!thrum__model_has_row(&model->tasks, other) ||
			THRUM__RUN(model, run, prev) != THRUM__NONE ||
			thrum__analyse_task_is_lane(model, other) ||
			!thrum__why_are_peers(search, task, other))
			continue;
		ready = ready_at(model, other, THRUM__RUN(model, run, start));
		if (ready < 0 || THRUM__RUN(model, run, lane) >= LANES)
			return false;
		if (THRUM__RUN(model, run, start) - ready > like->longest)
			like->longest = THRUM__RUN(model, run, start) - ready;
		like->runs[THRUM__RUN(model, run, lane)]++;
		like->all++;
	}
	return like->all >= RUNS_MIN;
}

/* For how long a lane has rested until there is work; -1: it doesn't. */
static int64_t rests_for(const struct thrum__model *model, const struct thrum__lane *lane)
{
	uint32_t row = thrum__why_resting(model, lane);

	return thrum__why_rests_for(model, row, THRUM__REASON_WORK)
		? model->end - THRUM__SUSPENSION(model, row, start)
		: -1;
}

uint32_t thrum__why_abandoner(struct thrum__search *search, uint32_t task, uint32_t *count)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE;
	int64_t ready = -1, rest = -1;
	struct like like;
	bool is_before = false; /* the thread ended before the task was made ready */

	if (search->gap >= 0 || model->is_joined || !thrum__analyse_task_is_pending(model, task) ||
		THRUM__TASK(model, task, run) != THRUM__NONE ||
		!thrum__why_is_said_ready(model, task) || !find_like(search, task, &like))
		return THRUM__NONE;
	ready = ready_at(model, task, THRUM__OPEN);
	if (ready < 0)
		return THRUM__NONE;
	for (uint32_t i = 0; i < model->lane_count && i < LANES; i++) {
		const struct thrum__lane *lane = &model->lanes[i];
		int64_t rested;

		if (like.runs[i] == 0 || !thrum__model_has_row(&model->tasks, lane->task))
			continue;
		if (!thrum__analyse_task_is_pending(model, lane->task)) {
			if (found != THRUM__NONE || like.runs[i] < LEFT_MIN)
				return THRUM__NONE;
			is_before = THRUM__TASK(model, lane->task, end) < ready;
			found = lane->task;
			*count = like.runs[i];
			continue;
		}
		rested = rests_for(model, lane);
		if (rested < 0)
			return THRUM__NONE;
		rest = rested > rest ? rested : rest;
	}
	/* Where others run the like, its end is no reason. */
	if (is_before && rest >= 0)
		return THRUM__NONE;
	rest = rest >= 0 && rest < model->end - ready ? rest : model->end - ready;
	return rest >= THRUM__WAKING && rest / TIMES > like.longest ? found : THRUM__NONE;
}
