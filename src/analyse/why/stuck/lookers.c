/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a thread only looks now and then how things stand: it sleeps again and again, and has done
 * nothing for others since a wait began.
 */
#include "analyse/why/stuck/stuck.h"

#define TURNS_MIN 10 /* sleeps since then */

/* Whether an edge of a thread does nothing for others. */
static bool is_idle_act(const struct thrum__model *model, uint32_t edge)
{
	uint32_t to = THRUM__EDGE(model, edge, to);

	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_WAIT:
	case THRUM__EDGE_READ:
	case THRUM__EDGE_LOCK:
	case THRUM__EDGE_UNLOCK: return true;
	case THRUM__EDGE_RESOLVE: /* the end of its own sleep */
		return thrum__model_has_row(&model->tasks, to) &&
			THRUM__TASK(model, to, kind) == THRUM_KIND_TIMER;
	default: return false;
	}
}

/* Whether a thread has made anything but its sleeps since a time, or there are too many tasks to tell. */
static bool has_made(struct thrum__search *search, uint32_t thread, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__analyse_next_task(model, thrum__analyse_task_from(model, since));

	for (; task < model->tasks.count; task = thrum__analyse_next_task(model, task + 1)) {
		if (search->budget == 0)
			return true;
		search->budget--;
		if (THRUM__TASK(model, task, creator) == thread &&
			THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER)
			return true;
	}
	return false;
}

/* How often a thread has waited since a time; 0: it did something for others, or that isn't known. */
static uint32_t count_turns(struct thrum__search *search, uint32_t thread, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, thread, edge_out), turns = 0;

	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_out)) {
		if (THRUM__EDGE(model, edge, time) < since)
			return turns;
		if (search->budget == 0 || !is_idle_act(model, edge))
			return 0;
		search->budget--;
		turns += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
	}
	return edge == THRUM__NONE ? turns : 0;
}

static bool only_looks(struct thrum__search *search, const struct thrum__lane *lane, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t thread = thrum__why_heir_of(model, thrum__why_task_of_lane(lane));

	return thrum__analyse_task_is_pending(model, thread) &&
		thrum__why_rests_for(model, thrum__why_resting(model, lane),
			THRUM__REASON_BLOCKED_FOR_A_TIME) &&
		count_turns(search, thread, since) >= TURNS_MIN && !has_made(search, thread, since);
}

/* Whether a lane is one of GLib's own threads, which wake others and run nothing of the program. */
static bool is_of_glib(const struct thrum__model *model, const struct thrum__lane *lane)
{
	static const char *const own[] = {"gmain", "gdbus"};

	return thrum__why_rests_for(model, lane->suspended, THRUM__REASON_WORK) &&
		thrum__why_begins_with(model, lane->task, own, sizeof own / sizeof *own);
}

bool thrum__why_all_look(struct thrum__search *search, uint32_t task, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t own = THRUM__TASK(model, task, lane);

	for (uint32_t i = 0; own < model->lane_count && i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];

		if (lane->process == model->lanes[own].process &&
			thrum__analyse_task_is_pending(model, lane->task) &&
			!thrum__why_rests_for(model, thrum__why_resting(model, lane),
				THRUM__REASON_BLOCKED) &&
			!is_of_glib(model, lane) && !only_looks(search, lane, since))
			return false;
	}
	return own < model->lane_count;
}
