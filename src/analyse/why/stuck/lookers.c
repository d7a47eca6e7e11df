/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a thread only looks now and then how things stand: it sleeps again and again, and has done
 * nothing for others since a wait began.
 */
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define TURNS_MIN 10       /* sleeps since then */
#define SEEN_FOR 500000000 /* ns for which an adapter saw that a thread only sleeps */
#define LONG 1000000000    /* ns; in less time nobody knows whether a thread does nothing else */

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
		if (!thrum__why_spend(search, 1))
			return true;
		if (THRUM__TASK(model, task, creator) == thread &&
			THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER)
			return true;
	}
	return false;
}

/* How often a thread has waited since a time; 0: it did something for others, which it may unless `acts`, or
 * that isn't known. */
static uint32_t count_turns(struct thrum__search *search, uint32_t thread, int64_t since, bool acts)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, thread, edge_out), turns = 0;

	THRUM__EDGES_BACK (model, edge, prev_out, UINT32_MAX) {
		if (THRUM__EDGE(model, edge, time) < since)
			return turns;
		if (search->budget == 0 || !(acts || is_idle_act(model, edge)))
			return 0;
		search->budget--;
		turns += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
	}
	return edge == THRUM__NONE ? turns : 0;
}

static bool only_looks(struct thrum__search *search, const struct thrum__lane *lane, int64_t since,
	bool acts)
{
	const struct thrum__model *model = search->model;
	uint32_t thread = thrum__why_thread_of(model, lane);

	return thrum__analyse_task_is_pending(model, thread) &&
		thrum__why_rests_for(model, thrum__why_resting(model, lane),
			THRUM__REASON_BLOCKED_FOR_A_TIME) &&
		count_turns(search, thread, since, acts) >= TURNS_MIN &&
		!has_made(search, thread, since);
}

/* Whether a task stands for something that an adapter missed, as it looked: nobody runs it. For ends that are
 * left open other threads count only while they do nothing for long. */
static bool is_missing(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_TASK &&
		THRUM__TASK(model, task, run) == THRUM__NONE &&
		THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE &&
		!THRUM__BEGINS_WITH(model, task, "writing end of", "reading end of",
			"other end of");
}

/* Whether an adapter has seen for some time that others go on, and do nothing for it. */
static bool is_left_by_all(const struct thrum__model *model, uint32_t task)
{
	return strstr(thrum__model_task_name(model, task, NULL), " while others go on");
}

/* Whether a thread's latest act is a wait, as adapters tell of each sleep. A program that tells of itself may
 * only say that the thread rests. */
static bool has_told_sleep(const struct thrum__model *model, uint32_t thread)
{
	uint32_t edge = THRUM__TASK(model, thread, edge_out);

	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
}

/* Whether the latest act of a thread, the sleep that goes on, came before a time. */
static bool has_slept_since(const struct thrum__model *model, uint32_t thread, int64_t since)
{
	uint32_t edge = THRUM__TASK(model, thread, edge_out);

	return thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) < since;
}

/* Whether an adapter knows by the clock alone that what is awaited comes decades too late. */
static bool is_too_late(const struct thrum__model *model, uint32_t task)
{
	return strstr(thrum__model_task_name(model, task, NULL), " too late");
}

int thrum__why_beside(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t own = THRUM__TASK(model, task, lane);
	int64_t since = THRUM__TASK(model, task, created) - SEEN_FOR;
	int found = THRUM__BESIDE_NONE;

	if (!is_missing(model, task) || own >= model->lane_count)
		return found;
	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];
		uint32_t thread = thrum__why_thread_of(model, lane);

		if (i == own || lane->process != model->lanes[own].process ||
			!thrum__analyse_task_is_pending(model, thread) ||
			!has_told_sleep(model, thread) ||
			!thrum__why_rests_for(model, thrum__why_resting(model, lane),
				THRUM__REASON_BLOCKED_FOR_A_TIME))
			continue;
		if (!is_left_by_all(model, task) && !is_too_late(model, task) &&
			!has_slept_since(model, thread, since) &&
			(count_turns(search, thread, since, false) == 0 ||
				has_made(search, thread, since)))
			return THRUM__BESIDE_ACTS;
		found = THRUM__BESIDE_SLEEPS;
	}
	return found;
}

/* Whether a loop waits for work that only threads of the program can give it, by waking it; so the adapters
 * say. Or the lane is one of GLib's own threads, which wake others and run nothing of the program. */
static bool is_loop_at_rest(const struct thrum__model *model, const struct thrum__lane *lane)
{
	static const char *const own[] = {"gmain", "gdbus"}, *const wakes[] = {"eventfd "};
	uint32_t edge = thrum__model_last_edge(model, thrum__why_task_of_lane(lane));

	return thrum__why_rests_for(model, lane->suspended, THRUM__REASON_WORK) &&
		(thrum__why_begins_with(model, lane->task, own, sizeof own / sizeof *own) ||
			(thrum__model_has_row(&model->edges, edge) &&
				THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
				thrum__why_begins_with(model, THRUM__EDGE(model, edge, to), wakes,
					1)));
}

/* Whether the latest sleeps of a thread were all asked for the same time, or were waits for the same object:
 * one that waits longer each time has not come round. */
static bool are_rounds_alike(const struct thrum__model *model, uint32_t thread)
{
	uint32_t first = THRUM__NONE, turns = 0;

	THRUM__ACTS_OF (model, thread, edge, UINT32_MAX, THRUM__EDGE_WAIT) {
		uint32_t on = THRUM__EDGE(model, edge, to);

		if (turns++ == TURNS_MIN)
			return true;
		if (!thrum__model_has_row(&model->tasks, on))
			return false;
		first = first == THRUM__NONE ? on : first;
		if (strcmp(thrum__model_task_name(model, on, NULL),
			    thrum__model_task_name(model, first, NULL)) != 0)
			return false;
	}
	return turns >= TURNS_MIN;
}

static bool comes_round(struct thrum__search *search, const struct thrum__lane *lane, int64_t since,
	bool acts)
{
	return search->model->end - since >= LONG && only_looks(search, lane, since, acts) &&
		are_rounds_alike(search->model, thrum__why_thread_of(search->model, lane));
}

bool thrum__why_ticks(struct thrum__search *search, const struct thrum__lane *lane, int64_t since)
{
	return comes_round(search, lane, since, false);
}

bool thrum__why_comes_round(struct thrum__search *search, const struct thrum__lane *lane,
	int64_t since)
{
	return comes_round(search, lane, since, true);
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
			!is_loop_at_rest(model, lane) && !only_looks(search, lane, since, false))
			return false;
	}
	return own < model->lane_count;
}
