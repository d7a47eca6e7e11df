/* SPDX-License-Identifier: ISC */
/* Goes on with the work on a message that the task has sent: in another process, perhaps on another
 * machine. */
#include "analyse/slow/parts.h"

#define LOOK_BACK 64 /* messages of a task */
/* ns: a process that was started receives its link within them; who waits for its end is told within them, or
 * within a quarter of the time */
#define STARTS INT64_C(100000000)
#define ENDS INT64_C(100000000)

/* The lane of a task; NULL: that isn't known, or the task is forgotten. */
static const struct thrum__lane *lane_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t lane = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, lane)
								  : THRUM__NONE;

	return lane < model->lane_count ? &model->lanes[lane] : NULL;
}

/* If a message started the receiver's process, the lane of that process's first thread; else NULL. */
static const struct thrum__lane *started_by(const struct thrum__model *model, uint32_t edge)
{
	uint32_t receiver = THRUM__EDGE(model, edge, to);
	const struct thrum__lane *from = lane_of(model, THRUM__EDGE(model, edge, from));
	const struct thrum__lane *to = lane_of(model, receiver);

	if (!from || !to || to->process == from->process || to->task != receiver ||
		THRUM__EDGE(model, edge, value) & THRUM__LINK_CONNECTION ||
		THRUM__EDGE(model, edge, prev_in) != THRUM__NONE ||
		thrum__slow_edge_time(model, edge) - to->first > STARTS)
		return NULL;
	for (const struct thrum__lane *lane = model->lanes; lane < to; lane++)
		if (lane->process == to->process)
			return NULL;
	return to;
}

/* When the receiver of a message has done its work. */
static int64_t done_by(const struct thrum__model *model, uint32_t edge)
{
	const struct thrum__lane *started = started_by(model, edge);

	return started ? started->last : thrum__slow_path_end(model, THRUM__EDGE(model, edge, to));
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

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

/* The edge by which a task started a process whose end ended a time: the one that ended nearest to it.
 * NONE: there is none. */
static uint32_t find_start(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t starter, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *sends = &walk->paths->sends;
	uint32_t i = thrum__slow_rows_before(model, sends, starter, to, thrum__slow_edge_time);
	uint32_t best = THRUM__NONE;
	int64_t nearest = (to - from) / 4 > ENDS ? (to - from) / 4 : ENDS;

	for (uint32_t looked = 0; i > sends->first[starter] && looked < LOOK_BACK; looked++) {
		uint32_t edge = sends->rows[--i];
		const struct thrum__lane *started = started_by(model, edge);

		if (!started || distance(started->last, to) > nearest ||
			!thrum__slow_can_follow(walk, piece, THRUM__EDGE(model, edge, to)))
			continue;
		nearest = distance(started->last, to);
		best = edge;
	}
	return best;
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

/* The way of a message or of its answer: a part of the path that ends on another machine's clock. */
struct way {
	uint32_t receiver;
	int doing;
	bool is_sum; /* its error is the other way's, with the other sign */
};

void thrum__slow_doubt_add(struct thrum__doubt *to, struct thrum__doubt by)
{
	if (__builtin_add_overflow(to->error, by.error, &to->error))
		to->error = INT64_MAX;
	if (by.way > to->way)
		to->way = by.way;
}

static void add_way(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	const struct way *way, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	uint32_t count = walk->path->count;
	int64_t error;

	thrum__slow_part_add(walk, piece, from, to, way->doing, THRUM__NONE);
	if (way->doing != THRUM__DOING_NETWORK || walk->path->count == count)
		return;
	error = thrum__model_clock_error(model, THRUM__TASK(model, piece->task, lane),
		THRUM__TASK(model, way->receiver, lane), from, to);
	walk->path->parts[count].doubt = (struct thrum__doubt){way->is_sum ? 0 : error, error};
}

/* Goes on with the receiver of a message. */
static void follow(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t edge, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	struct thrum__slow_piece queued = *piece;
	uint32_t receiver = THRUM__EDGE(model, edge, to);
	struct way way = {receiver,
		started_by(model, edge) ? THRUM__DOING_WAITS
					: way_between(model, piece->task, receiver),
		true};
	int64_t begun, done, busy;

	/* The receiver may have been made to receive it. */
	begun = THRUM__TASK(model, receiver, created);
	if (begun <= from)
		begun = thrum__slow_edge_time(model, edge);
	done = done_by(model, edge);
	/* Clocks that are wrong lengthen one way and shorten the other one, unless that is used up. */
	way.is_sum = begun > from && begun < done && done < to;
	begun = begun < from ? from : begun > to ? to : begun;
	busy = from < begun
		? thrum__slow_lane_busy_since(walk, THRUM__TASK(model, receiver, lane), from, begun)
		: begun;
	way.is_sum &= busy > from;
	done = done < to ? done : to;
	done = done > begun ? done : begun;
	add_way(walk, piece, &way, done, to);
	thrum__slow_push_below(walk, piece, receiver, begun, done);
	/* The message lay there while the receiver's thread did something else. */
	queued.task = receiver;
	if (thrum__slow_frame_find(walk->paths, piece->frame, receiver, THRUM__DOING_RUNS,
		    &queued.frame) < 0)
		walk->failed = true;
	thrum__slow_lane_add(walk, &queued, THRUM__TASK(model, receiver, lane), busy, begun,
		THRUM__DOING_QUEUED);
	add_way(walk, piece, &way, from, busy);
}

bool thrum__slow_walk_message(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, int64_t to)
{
	uint32_t edge = walk->model->has_links ? find_any(walk, piece, from, to) : THRUM__NONE;

	if (edge != THRUM__NONE)
		follow(walk, piece, edge, from, to);
	return edge != THRUM__NONE;
}

bool thrum__slow_walk_process(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	uint32_t creator = THRUM__TASK(model, piece->task, creator), edge;

	if (!model->has_links || from >= to || !thrum__model_has_row(&model->tasks, creator) ||
		THRUM__TASK(model, piece->task, kind) != THRUM_KIND_REQUEST ||
		THRUM__TASK(model, piece->task, run) != THRUM__NONE)
		return false;
	edge = find_start(walk, piece, creator, from, to);
	if (edge != THRUM__NONE)
		follow(walk, piece, edge, from, to);
	return edge != THRUM__NONE;
}
