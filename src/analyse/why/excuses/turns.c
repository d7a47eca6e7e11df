/* SPDX-License-Identifier: ISC */
/* Tells whose turn it is to signal an object, if that isn't late: a loop's with a time limit, or a thread's
 * in a ring of threads. */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/excuses/excuses.h"

#define LOOK_BACK 1024 /* edges of an object or task that are searched, from the latest back */
#define SUSPENSIONS_BACK 4096 /* suspensions that are searched for those of a lane */
#define TURN_WAITS 3          /* waits of a turn that just began */
#define WAKE_MAX 250000000    /* ns that a woken thread may take to run on a busy machine, */
#define TURN_MAX 1000000000   /* and its turn */

int64_t thrum__why_last_turn(const struct thrum__model *model, uint32_t lane, uint32_t row)
{
	for (int i = 0; i < SUSPENSIONS_BACK && row-- > model->suspensions.first; i++)
		if (thrum__model_has_row(&model->suspensions, row) &&
			THRUM__SUSPENSION(model, row, lane) == lane)
			return THRUM__SUSPENSION(model, row, end);
	return THRUM__OPEN;
}

bool thrum__why_has_turn(const struct thrum__model *model, uint32_t server, uint32_t object,
	uint32_t waiter)
{
	uint32_t lane = thrum__why_last_lane(model, server), row;
	int64_t since = THRUM__OPEN, turn;

	if (lane == THRUM__NONE)
		return false;
	row = thrum__why_resting(model, &model->lanes[lane]);
	if (!thrum__why_rests_for(model, row, THRUM__REASON_WORK_FOR_A_TIME) &&
		!thrum__why_rests_for(model, row, THRUM__REASON_OUTSIDE_FOR_A_TIME))
		return false;
	turn = thrum__why_last_turn(model, lane, row);
	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (kind == THRUM__EDGE_SIGNAL && from == server)
			return THRUM__EDGE(model, edge, time) >= turn ||
				THRUM__SUSPENSION(model, row, start) <= since;
		if (kind == THRUM__EDGE_WAIT && from == waiter && since == THRUM__OPEN)
			since = THRUM__EDGE(model, edge, time);
	}
	return false;
}

bool thrum__why_is_next(const struct thrum__search *search, uint32_t thread, uint32_t object)
{
	const struct thrum__model *model = search->model;
	uint32_t waits = 0;
	bool is_told = false;

	if (thrum__why_is_signaller(search, thread, object))
		return false;
	THRUM__EDGES_FROM (model, thread, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		waits += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
		is_told = THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ &&
			thrum__model_has_row(&model->tasks, to) &&
			thrum__why_is_alike(search, to, object);
		if (is_told || waits > TURN_WAITS)
			break;
	}
	for (uint32_t i = 0; is_told && i < model->lane_count; i++) {
		uint32_t other = thrum__why_thread_of(model, &model->lanes[i]);

		if (thrum__model_has_row(&model->tasks, other) && other != thread &&
			thrum__why_is_alike(search, other, thread) &&
			thrum__why_is_signaller(search, other, object))
			return true;
	}
	return false;
}

bool thrum__why_is_woken(const struct thrum__search *search, const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		thrum__why_lock_of_condition(model, wait->on));
	uint32_t woken = 0;

	if (!thrum__analyse_task_is_object(model, wait->on) || (lock && lock->count > 0))
		return false;
	THRUM__EDGES_TO (model, wait->on, edge, LOOK_BACK) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (time < wait->since || model->end - time >= WAKE_MAX)
			return false;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ)
			woken++;
		else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			thrum__model_waiters(model, edge) > 0 && woken-- == 0)
			return true;
	}
	return false;
}

bool thrum__why_has_woken(const struct thrum__search *search, const struct thrum__why_path *path)
{
	uint32_t first = path->circle != THRUM__NONE ? path->circle
		: path->length > 0                   ? path->length - 1
						     : 0;

	for (uint32_t i = first; i < path->length; i++)
		if (!path->links[i].is_served && thrum__why_is_woken(search, &path->links[i].wait))
			return true;
	return false;
}

/* The latest of a task's acts from an edge back that is about no lock; or NONE. */
static uint32_t last_but_locks(const struct thrum__model *model, uint32_t edge)
{
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_UNLOCK)
			return edge;
	return THRUM__NONE;
}

/* Whether a thread waited until it was told to go on, and computes since then: it has signalled nobody. */
static bool is_at_turn(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, thread, edge_out);

	if (THRUM__TASK(model, thread, kind) != THRUM_KIND_THREAD ||
		!thrum__why_is_busy(search, thread))
		return false;
	edge = last_but_locks(model, edge);
	if (edge == THRUM__NONE || THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ ||
		model->end - THRUM__EDGE(model, edge, time) >= TURN_MAX)
		return false;
	edge = last_but_locks(model, THRUM__EDGE(model, edge, prev_out));
	return edge != THRUM__NONE && THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
}

bool thrum__why_has_server_at_turn(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct thrum__why_servers servers;

	if (path->length == 0)
		return false;
	thrum__why_servers_of(search->model, path->leaf, thrum__why_path_last(path)->task,
		&servers);
	for (unsigned i = 0; i < servers.count; i++)
		if (is_at_turn(search, servers.task[i]))
			return true;
	return false;
}
