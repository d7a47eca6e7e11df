/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a callback waits for what only its own loop may do next: another task is ready since the
 * callback began, and no thread is left that could run it but the loop's. Or a thread that ran its loop so
 * far waits outside of it. Or only tasks of one lane ever served an object, or are like one that is ready.
 */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/stuck/stuck.h"

#define EDGES_BACK 64 /* edges of an object that are searched, from the latest back */
#define SIGNALS_BACK 1024
#define RAN_MIN 3      /* tasks that ran on a lane, so that others like them do */
#define RUNS_BACK 4096 /* runs that are searched for one of a lane, from the latest back */

/* Whether a task is one that loops run, and waits for nothing but its turn. */
static bool is_of_loop(const struct thrum__search *search, uint32_t task)
{
	int kind = THRUM__TASK(search->model, task, kind);

	return (kind == THRUM_KIND_HANDLE || kind == THRUM_KIND_TIMER ||
		       kind == THRUM_KIND_REQUEST) &&
		thrum__why_is_said_ready(search->model, task) &&
		thrum__analyse_graph_waits(&search->graph, task).count == 0;
}

/* The task of a loop that was made ready last since a time, and hasn't run since; NONE: there is none, or
 * there are too many tasks to tell. */
static uint32_t last_ready(struct thrum__search *search, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t last = THRUM__NONE;
	int64_t latest = since;

	THRUM__EACH_TASK (model, task) {
		int64_t time;

		if (!thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (!thrum__analyse_task_is_pending(model, task) || !is_of_loop(search, task))
			continue;
		time = THRUM__EDGE(model, thrum__why_edge_to(model, task, THRUM__EDGE_READY), time);
		if (time > latest) {
			latest = time;
			last = task;
		}
	}
	return last;
}

/* Whether a lane alone is blocked by a task that it runs: so what is ready isn't left to another one. */
static bool is_only_blocked(const struct thrum__search *search, uint32_t number)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t blocker = thrum__why_blocker_of(search, i);

		if (blocker != THRUM__NONE && !thrum__analyse_task_is_lane(model, blocker) &&
			THRUM__TASK(model, blocker, kind) != THRUM_KIND_THREAD && i != number)
			return false;
	}
	return true;
}

/* Whether nobody has signalled an object since a time, or put something into it; or ever, if it isn't a
 * stream. */
static bool is_quiet(const struct thrum__model *model, uint32_t object, int64_t since)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in);

	if (THRUM__TASK(model, object, kind) != THRUM_KIND_STREAM)
		return thrum__why_is_untouched(model, object);
	THRUM__EDGES_BACK (model, edge, prev_in, EDGES_BACK) {
		if (THRUM__EDGE(model, edge, time) <= since)
			return true;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			return false;
	}
	return edge == THRUM__NONE;
}

/* Whether all that ever signalled an object, before a time, are named like a task that is ready. */
static bool is_left_to(const struct thrum__model *model, uint32_t object, uint32_t ready,
	int64_t since)
{
	uint32_t signals = 0;

	THRUM__ACTS_ON (model, object, edge, EDGES_BACK, THRUM__EDGE_SIGNAL) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, time) > since ||
			!thrum__model_has_row(&model->tasks, from) ||
			THRUM__TASK(model, from, kind) != THRUM__TASK(model, ready, kind) ||
			!thrum__why_are_named_alike(model, ready, from))
			return false;
		signals++;
	}
	return signals > 0;
}

/* Since when a lane runs none of its loop's tasks: when the last of them ended, though its thread isn't in
 * the loop but waits as the path says. -1: it isn't so. */
static int64_t left_loop(const struct thrum__model *model, uint32_t number,
	const struct thrum__why_link *last)
{
	const struct thrum__lane *lane = &model->lanes[number];
	uint32_t run = model->runs.count;

	if (last->task != thrum__why_task_of_lane(lane) ||
		thrum__model_last_edge(model, last->task) != last->wait.edge ||
		!thrum__why_lane_rests_for(model, number, THRUM__REASON_BLOCKED))
		return -1;
	for (int i = 0; i < RUNS_BACK && run-- > model->runs.first; i++)
		if (thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, lane) == number &&
			THRUM__RUN(model, run, task) != lane->task &&
			THRUM__RUN(model, run, task) != last->task)
			return THRUM__RUN(model, run, end);
	return -1;
}

/* Since when a lane's loop waits for the end of the path; -1: it doesn't. */
static int64_t loop_waits(const struct thrum__search *search, uint32_t lane,
	const struct thrum__why_link *last)
{
	const struct thrum__model *model = search->model;

	if (thrum__analyse_task_is_lane(model, last->task) ||
		THRUM__TASK(model, last->task, kind) == THRUM_KIND_THREAD)
		return left_loop(model, lane, last);
	return thrum__why_blocker_of(search, lane) == last->task
		? THRUM__RUN(model, THRUM__TASK(model, last->task, run), start)
		: -1;
}

uint32_t thrum__why_own_turn(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t lane = last && !last->is_served ? thrum__why_last_lane(model, last->task)
						 : THRUM__NONE;
	int64_t since = lane == THRUM__NONE ? -1 : loop_waits(search, lane, last);

	uint32_t ready;

	if (since < 0 || path->circle != THRUM__NONE || !is_only_blocked(search, lane) ||
		!thrum__why_all_look(search, last->task, last->wait.since))
		return THRUM__NONE;
	ready = last_ready(search, since);
	return ready != THRUM__NONE &&
			(is_quiet(model, path->leaf, last->wait.since) ||
				is_left_to(model, path->leaf, ready, last->wait.since))
		? ready
		: THRUM__NONE;
}

/* ---- Objects that only a loop's callbacks serve ---------------------------------------------- */

/* Whether a task ended, and was none that keeps a thread for itself. */
static bool was_short(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		!thrum__analyse_task_is_pending(model, task) &&
		!thrum__analyse_task_is_lane(model, task) &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_THREAD;
}

uint32_t thrum__why_keeper_of(const struct thrum__search *search, uint32_t object)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, object, edge_in), lane = THRUM__NONE;

	THRUM__EDGES_BACK (model, edge, prev_in, SIGNALS_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from), on;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_UNLOCK)
			continue;
		if (!was_short(model, from))
			return THRUM__NONE;
		on = thrum__why_last_lane(model, from);
		if (lane != THRUM__NONE && on != lane)
			return THRUM__NONE;
		lane = on;
	}
	return edge == THRUM__NONE && lane < model->lane_count ? thrum__why_blocker_of(search, lane)
							       : THRUM__NONE;
}

/* Whether a task ran on another lane than one, in a thread that lives, and was made elsewhere, as a job of a
 * pool: then others like it may run there, too. */
static bool is_job_beside(const struct thrum__model *model, uint32_t task, uint32_t lane)
{
	uint32_t on = thrum__why_last_lane(model, task);
	int kind = THRUM__TASK(model, task, kind);

	return on != THRUM__NONE && on != lane && on != THRUM__TASK(model, task, lane) &&
		(kind == THRUM_KIND_TASK || kind == THRUM_KIND_FIBER) &&
		!thrum__analyse_task_is_lane(model, task) &&
		thrum__analyse_task_is_pending(model, model->lanes[on].task);
}

/* Whether other threads run jobs, too, or there are too many tasks to tell. */
static bool are_jobs_beside(struct thrum__search *search, uint32_t lane)
{
	THRUM__EACH_TASK (search->model, task)
		if (!thrum__why_spend(search, 1) || is_job_beside(search->model, task, lane))
			return true;
	return false;
}

uint32_t thrum__why_usual_lane(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task), lane = THRUM__NONE, count = 0;
	int kind = THRUM__TASK(model, task, kind);

	if (key == THRUM__NONE || (kind != THRUM_KIND_TASK && kind != THRUM_KIND_FIBER) ||
		THRUM__TASK(model, task, run) != THRUM__NONE ||
		!thrum__why_is_said_ready(model, task) ||
		thrum__why_peers_of(&search->peers, task)->ran < RAN_MIN)
		return THRUM__NONE;
	THRUM__EACH_TASK (model, other) {
		uint32_t on;

		if (!thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (thrum__why_peers_key(&search->peers, other) != key ||
			THRUM__TASK(model, other, run) == THRUM__NONE)
			continue;
		on = thrum__why_last_lane(model, other);
		if (count++ > 0 && on != lane)
			return THRUM__NONE;
		lane = on;
	}
	return count >= RAN_MIN && lane != THRUM__NONE && !are_jobs_beside(search, lane)
		? lane
		: THRUM__NONE;
}

/* ---- Loops within loops -------------------------------------------------------------------- */

/* The edge by which a callback waits for its loop, which runs within that of another one: the outer loop
 * waits for its end. NONE: it isn't so. */
static uint32_t waits_within(const struct thrum__model *model, uint32_t outer, uint32_t callback,
	const struct thrum__analyse_wait *wait)
{
	if (THRUM__TASK(model, wait->on, kind) != THRUM_KIND_HANDLE)
		return THRUM__NONE;
	THRUM__EDGES_TO (model, wait->on, edge, EDGES_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && from != outer &&
			from != callback && thrum__analyse_task_is_pending(model, from) &&
			thrum__why_last_lane(model, from) == thrum__why_last_lane(model, callback))
			return edge;
	}
	return THRUM__NONE;
}

/* If the path's leaf is a loop that keeps the one around it from ending, adds a step for the callback that
 * runs it. Returns whether it is so. */
static bool add_covering(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	if (!thrum__why_covers_loop(model, path->leaf))
		return false;
	THRUM__EDGES_TO (model, path->leaf, edge, EDGES_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, from) &&
			THRUM__TASK(model, from, kind) != THRUM_KIND_HANDLE &&
			from != thrum__why_path_last(path)->task) {
			thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, from, path->leaf,
				THRUM__EDGE(model, edge, time), edge);
			return true;
		}
	}
	return true;
}

/* Adds steps if a task waits for its loop, and that for the loop of another callback within it. */
static bool add_within(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t task, const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, wait->on);
	uint32_t edge = waits.count > 0 ? waits_within(model, wait->on, task, &waits.waits[0])
					: THRUM__NONE;

	if (edge == THRUM__NONE)
		return false;
	thrum__why_add_at(finding, model, THRUM__STEP_WAITS_FOR, THRUM__EDGE(model, edge, from),
		THRUM__EDGE(model, edge, to), edge);
	thrum__why_add_step(finding, THRUM__STEP_BEHIND, task, wait->on, waits.waits[0].since,
		wait->edge);
	return true;
}

bool thrum__why_add_loop_within(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct thrum__why_servers servers;

	if (!thrum__analyse_task_is_object(search->model, path->leaf))
		return add_covering(finding, search->model, path);
	thrum__why_servers_of(search->model, path->leaf, thrum__why_path_last(path)->task,
		&servers);
	for (unsigned i = 0; i < servers.count; i++) {
		struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph,
			servers.task[i]);

		for (uint32_t j = 0; j < waits.count; j++)
			if (add_within(finding, search, servers.task[i], &waits.waits[j]))
				return true;
	}
	return false;
}
