/* SPDX-License-Identifier: ISC */
/* Goes on with the work on a message that the task has sent: in another process, perhaps on another
 * machine. */
#include "analyse/slow/parts.h"

#define LOOK_BACK 64 /* messages of a task */

/* The edge by which a task's latest message was received that may explain a time: its receiver was at
 * work then. NONE: there is none. */
static uint32_t find_message(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t sender, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *sends = &walk->paths->sends;
	uint32_t i = thrum__slow_rows_before(model, sends, sender, to, thrum__slow_edge_time);

	for (uint32_t looked = 0; i > sends->first[sender] && looked < LOOK_BACK; looked++) {
		uint32_t edge = sends->rows[--i], receiver = THRUM__EDGE(model, edge, to);

		if (thrum__slow_explains(walk, piece, receiver) &&
			thrum__slow_path_end(model, receiver) > from)
			return edge;
	}
	return THRUM__NONE;
}

/* The same for the piece's task, or else for the nearest one that waits for it: a thread may send in
 * a task's name, and another may read the answer. */
static uint32_t find_any(const struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, int64_t to)
{
	uint32_t edge = find_message(walk, piece, piece->task, from, to);

	for (uint32_t depth = piece->depth + 1; edge == THRUM__NONE && depth-- > 0;)
		if (walk->waiting[depth] != piece->task)
			edge = find_message(walk, piece, walk->waiting[depth], from, to);
	return edge;
}

/* Where a message is while neither of two tasks has it. */
static int way_between(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	uint32_t first = THRUM__TASK(model, a, lane), second = THRUM__TASK(model, b, lane);
	bool are_known = first < model->lane_count && second < model->lane_count;

	return are_known && model->lanes[first].process != model->lanes[second].process
		? THRUM__DOING_NETWORK
		: THRUM__DOING_WAITS;
}

bool thrum__slow_walk_message(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	struct thrum__slow_piece queued = *piece;
	uint32_t edge = model->has_links ? find_any(walk, piece, from, to) : THRUM__NONE, receiver;
	int64_t begun, done, busy;
	int way;

	if (edge == THRUM__NONE)
		return false;
	receiver = THRUM__EDGE(model, edge, to);
	way = way_between(model, piece->task, receiver);
	/* The receiver may have been made to receive it. */
	begun = THRUM__TASK(model, receiver, created);
	if (begun <= from)
		begun = thrum__slow_edge_time(model, edge);
	begun = begun < from ? from : begun > to ? to : begun;
	done = thrum__slow_path_end(model, receiver);
	done = done < to ? done : to;
	done = done > begun ? done : begun;
	thrum__slow_part_add(walk, piece, done, to, way, THRUM__NONE);
	thrum__slow_push_below(walk, piece, receiver, begun, done);
	/* The message lay there while the receiver's thread did something else. */
	busy = from < begun
		? thrum__slow_lane_busy_since(walk, THRUM__TASK(model, receiver, lane), from, begun)
		: begun;
	queued.task = receiver;
	if (thrum__slow_frame_find(walk->paths, piece->frame, receiver, THRUM__DOING_RUNS,
		    &queued.frame) < 0)
		walk->failed = true;
	thrum__slow_lane_add(walk, &queued, THRUM__TASK(model, receiver, lane), busy, begun,
		THRUM__DOING_QUEUED);
	thrum__slow_part_add(walk, piece, from, busy, way, THRUM__NONE);
	return true;
}
