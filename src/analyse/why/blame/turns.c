/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a thread that takes messages left out an answer in the turn that got the question. A turn
 * ends where the thread waits for messages. It may take those of several: so the messages are told apart by
 * the others, and an answer belongs to the turn that sent it, however late it arrives.
 *
 * Each answer to the one that asks was sent in the turn that got the question. The turn without an answer
 * sent nothing but answers to others that asked in it, and did nothing else. So nobody has the question now.
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#include <stdlib.h>

#define EDGES_BACK 100000 /* edges of the one that asks, from the latest back */

uint32_t thrum__why_message_from(const struct thrum__model *model, uint32_t lane, uint32_t edge,
	bool is_answer)
{
	for (int i = 0; i < EDGES_BACK && thrum__model_has_row(&model->edges, edge); i++) {
		uint32_t other = is_answer ? THRUM__EDGE(model, edge, from)
					   : THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK &&
			thrum__why_last_lane(model, other) == lane)
			return edge;
		edge = is_answer ? THRUM__EDGE(model, edge, prev_in)
				 : THRUM__EDGE(model, edge, prev_out);
	}
	return THRUM__NONE;
}

/* ---- The turns -------------------------------------------------------------------------------- */

static bool ends_turn(const struct thrum__model *model, uint32_t row)
{
	return thrum__why_rests_for(model, row, THRUM__REASON_WORK) ||
		thrum__why_rests_for(model, row, THRUM__REASON_BLOCKED_OUTSIDE);
}

bool thrum__why_turns_make(struct thrum__why_turns *turns)
{
	const struct thrum__model *model = turns->model;
	uint32_t most = model->lanes[turns->lane].rests, turn = 0;

	turns->all = malloc((size_t)most * sizeof *turns->all);
	if (!turns->all)
		return false;
	for (uint32_t row = model->suspensions.first;
		row < model->suspensions.count && turns->count < most; row++)
		if (thrum__model_has_row(&model->suspensions, row) &&
			THRUM__SUSPENSION(model, row, lane) == turns->lane) {
			turn += ends_turn(model, row);
			turns->all[turns->count++] =
				(struct thrum__why_rest){THRUM__SUSPENSION(model, row, start),
					turn};
		}
	return true;
}

/* The turn at a time, or so many suspensions before; NONE: that isn't known. */
static uint32_t turn_before(const struct thrum__why_turns *turns, int64_t time, uint32_t rests)
{
	uint32_t low = 0, high = turns->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (turns->all[middle].start <= time)
			low = middle + 1;
		else
			high = middle;
	}
	if (rests >= THRUM__LINK_RESTS_MAX || rests > low)
		return THRUM__NONE;
	return rests < low ? turns->all[low - rests - 1].turn : 0;
}

uint32_t thrum__why_turn_of(const struct thrum__why_turns *turns, uint32_t edge, bool sends)
{
	const struct thrum__model *model = turns->model;
	uint32_t rests = (uint32_t)THRUM__EDGE(model, edge, value) >> THRUM__LINK_RESTS;

	return turn_before(turns, THRUM__EDGE(model, edge, time), sends ? rests : 0);
}

/* ---- The one that asks ------------------------------------------------------------------------ */

static bool is_of_lane(const struct thrum__why_turns *turns, uint32_t task)
{
	return thrum__why_last_lane(turns->model, task) == turns->lane;
}

/* The latest question to the lane from an edge of the one that asks on, in a turn or before; or NONE. */
static uint32_t question_until(const struct thrum__why_turns *turns, uint32_t edge, uint32_t turn)
{
	while ((edge = thrum__why_message_from(turns->model, turns->lane, edge, false)) !=
			THRUM__NONE &&
		thrum__why_turn_of(turns, edge, false) > turn)
		edge = THRUM__EDGE(turns->model, edge, prev_out);
	return edge;
}

/* Whether each answer was sent in the turn that got its question, and none after the turn of the last
 * question. The first question may be unknown. */
static bool are_answers_at_once(const struct thrum__why_turns *turns, uint32_t asker, uint32_t last)
{
	const struct thrum__model *model = turns->model;
	uint32_t question = question_until(turns, THRUM__TASK(model, asker, edge_out), last);
	uint32_t answer = THRUM__TASK(model, asker, edge_in);

	while (question != THRUM__NONE &&
		(answer = thrum__why_message_from(model, turns->lane, answer, true)) !=
			THRUM__NONE) {
		uint32_t turn = thrum__why_turn_of(turns, answer, true);

		question = question_until(turns, THRUM__EDGE(model, question, prev_out), turn);
		if (turn > last ||
			(question != THRUM__NONE &&
				thrum__why_turn_of(turns, question, false) != turn))
			return false;
		answer = THRUM__EDGE(model, answer, prev_in);
	}
	return true;
}

/* ---- The turn without an answer ---------------------------------------------------------------- */

/* Whether an edge of a thread in its turn has no effect but on its own messages. */
static bool is_own(const struct thrum__model *model, uint32_t edge)
{
	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_LOCK:
	case THRUM__EDGE_UNLOCK:
	case THRUM__EDGE_READ: return true;
	/* They go along with the messages. */
	case THRUM__EDGE_SIGNAL:
	case THRUM__EDGE_WAIT:
	case THRUM__EDGE_RESOLVE:
		return THRUM__BEGINS_WITH(model, THRUM__EDGE(model, edge, to), "socket ",
			"receive from ", "read from ");
	default: return false;
	}
}

/* Whether a message of the lane was sent in another turn, or to one that asked in this turn. */
static bool is_answer(const struct thrum__why_turns *turns, uint32_t edge, uint32_t turn)
{
	const struct thrum__model *model = turns->model;
	uint32_t to = THRUM__EDGE(model, edge, to), sent = thrum__why_turn_of(turns, edge, true),
		 question;

	if (sent != turn)
		return sent != THRUM__NONE;
	question = thrum__model_has_row(&model->tasks, to)
		? question_until(turns, THRUM__TASK(model, to, edge_out), turn)
		: THRUM__NONE;
	return question != THRUM__NONE && thrum__why_turn_of(turns, question, false) == turn;
}

/* Whether a task made another one between two times, to which it may have given the question. */
static bool has_made(const struct thrum__why_turns *turns, int64_t from, int64_t to)
{
	const struct thrum__model *model = turns->model;

	for (uint32_t task = thrum__analyse_task_from(model, from);
		thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, created) <= to;
		task++)
		if (is_of_lane(turns, THRUM__TASK(model, task, creator)) &&
			THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE &&
			!thrum__analyse_task_is_object(model, task))
			return true;
	return false;
}

/* Whether a turn, from a time to its end, did nothing but answer others that asked in it. Its messages may
 * arrive later. */
static bool is_silent(const struct thrum__why_turns *turns, uint32_t turn, int64_t from, int64_t to)
{
	const struct thrum__model *model = turns->model;
	uint32_t edge = thrum__analyse_edge_from(model, from);

	for (; thrum__model_has_row(&model->edges, edge); edge++) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (!is_of_lane(turns, THRUM__EDGE(model, edge, from)))
			continue;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK
				? !is_answer(turns, edge, turn)
				: time >= from && time <= to && !is_own(model, edge))
			return false;
	}
	return !has_made(turns, from, to);
}

bool thrum__why_turn_leaves_out(const struct thrum__model *model, uint32_t lane, uint32_t asker,
	int64_t asked)
{
	struct thrum__why_turns turns = {.model = model, .lane = lane};
	bool is_found = false;

	if (lane < model->lane_count && thrum__why_turns_make(&turns)) {
		uint32_t turn = turn_before(&turns, asked, 0);
		int64_t end = THRUM__OPEN;

		for (uint32_t i = turns.count; i-- > 0 && turns.all[i].turn > turn;)
			end = turns.all[i].start;
		is_found = end != THRUM__OPEN && are_answers_at_once(&turns, asker, turn) &&
			is_silent(&turns, turn, asked, end);
	}
	free(turns.all);
	return is_found;
}
