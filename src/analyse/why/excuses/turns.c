/* SPDX-License-Identifier: ISC */
/* Tells whose turn it is to signal an object, if that isn't late: a loop's with a time limit, or a thread's
 * in a ring of threads. */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/excuses/excuses.h"

#define LOOK_BACK 1024 /* edges of an object or task that are searched, from the latest back */
#define SUSPENSIONS_BACK 4096 /* suspensions that are searched for those of a lane */
#define TURN_WAITS 3          /* waits of a turn that just began */

/* When a lane's wait before the one of this row ended; OPEN: there is none, or it isn't known. */
static int64_t last_turn_of(const struct thrum__model *model, uint32_t lane, uint32_t row)
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
	uint32_t edge = THRUM__TASK(model, object, edge_in);
	uint32_t lane = thrum__why_last_lane(model, server), row;
	int64_t since = THRUM__OPEN, turn;

	if (lane == THRUM__NONE)
		return false;
	row = thrum__why_resting(model, &model->lanes[lane]);
	if (!thrum__why_rests_for(model, row, THRUM__REASON_WORK_FOR_A_TIME) &&
		!thrum__why_rests_for(model, row, THRUM__REASON_OUTSIDE_FOR_A_TIME))
		return false;
	turn = last_turn_of(model, lane, row);
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
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
	uint32_t edge = THRUM__TASK(model, thread, edge_out), waits = 0;
	bool is_told = false;

	if (thrum__why_is_signaller(search, thread, object))
		return false;
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		waits += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
		is_told = THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ &&
			thrum__model_has_row(&model->tasks, to) &&
			thrum__why_is_alike(search, to, object);
		if (is_told || waits > TURN_WAITS)
			break;
	}
	for (uint32_t i = 0; is_told && i < model->lane_count; i++) {
		uint32_t other = thrum__why_heir_of(model,
			thrum__why_task_of_lane(&model->lanes[i]));

		if (thrum__model_has_row(&model->tasks, other) && other != thread &&
			thrum__why_is_alike(search, other, thread) &&
			thrum__why_is_signaller(search, other, object))
			return true;
	}
	return false;
}
