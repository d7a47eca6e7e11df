/* SPDX-License-Identifier: ISC */
/* The pieces of a path that are still to be walked, its parts, and which tasks a path may follow. */
#include "analyse/slow/parts.h"
#include "base/array.h"

#define PIECES_MAX 20000 /* of a path: nobody reads a longer one */
#define CHAIN_MAX 4096   /* tasks that became one another */

/* ---- Following tasks --------------------------------------------------------------------- */

bool thrum__slow_is_ground(const struct thrum__model *model, uint32_t task)
{
	return !thrum__model_has_row(&model->tasks, task) || /* it is forgotten */
		(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) ||
		(model->is_mirage && THRUM__TASK(model, task, id) == 0);
}

bool thrum__slow_is_waiting(const struct thrum__slow_walk *walk, uint32_t depth, uint32_t heir)
{
	for (uint32_t i = 0; i <= depth; i++)
		if (walk->waiting[i] == heir)
			return true;
	return false;
}

bool thrum__slow_can_follow(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t by)
{
	return thrum__model_has_row(&walk->model->tasks, by) &&
		piece->depth + 1 < THRUM__STACK_DEPTH &&
		!thrum__slow_is_waiting(walk, piece->depth, thrum__model_heir(walk->model, by));
}

bool thrum__slow_explains(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t by)
{
	return thrum__slow_can_follow(walk, piece, by) && !thrum__slow_is_ground(walk->model, by);
}

/* ---- Parts and pieces ---------------------------------------------------------------------- */

void thrum__slow_part_add(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, int64_t to, int doing, uint32_t other)
{
	struct thrum__path *path = walk->path;
	struct thrum__path_part *grown;
	uint32_t frame = piece->frame;

	if (from >= to || walk->failed)
		return;
	/* Below a frame of a task that has the lane, that task's own time still keeps the lane. */
	if (walk->paths->frames[frame].doing >= THRUM__DOING_READY && doing <= THRUM__DOING_WAITS) {
		doing = walk->paths->frames[frame].doing;
		other = piece->task;
	} else if (doing >= THRUM__DOING_READY &&
		thrum__slow_frame_find(walk->paths, frame, other, doing, &frame) < 0)
		walk->failed = true;
	if (path->count == path->room) {
		grown = thrum__base_grow(path->parts, &path->room, path->room + UINT64_C(1),
			sizeof(*grown));
		if (grown)
			path->parts = grown;
		else
			walk->failed = true;
	}
	if (!walk->failed)
		path->parts[path->count++] = (struct thrum__path_part){from, to, frame, piece->task,
			piece->top, other, piece->holder, (uint8_t)doing, {0}};
}

void thrum__slow_push(struct thrum__slow_walk *walk, struct thrum__slow_piece piece)
{
	if (piece.from >= piece.to || walk->failed)
		return;
	if (walk->pushed++ == PIECES_MAX)
		walk->path->is_cut = true;
	if (walk->path->is_cut) {
		thrum__slow_part_add(walk, &piece, piece.from, piece.to, THRUM__DOING_WAITS,
			THRUM__NONE);
		return;
	}
	if (walk->count == walk->room) {
		struct thrum__slow_piece *grown = thrum__base_grow(walk->pieces, &walk->room,
			walk->room + UINT64_C(1), sizeof(*grown));

		if (!grown) {
			walk->failed = true;
			return;
		}
		walk->pieces = grown;
	}
	walk->pieces[walk->count++] = piece;
}

void thrum__slow_push_chain(struct thrum__slow_walk *walk, struct thrum__slow_piece piece)
{
	const struct thrum__model *model = walk->model;
	int64_t to = piece.to;

	for (int i = 0; i < CHAIN_MAX && piece.from < to; i++) {
		uint32_t next = THRUM__TASK(model, piece.task, state) == THRUM__STATE_BECAME
			? THRUM__TASK(model, piece.task, became)
			: THRUM__NONE;
		int64_t end = THRUM__TASK(model, piece.task, end);

		piece.to = thrum__model_has_row(&model->tasks, next) && end < to ? end : to;
		thrum__slow_push(walk, piece);
		if (piece.to == to)
			return;
		piece.from = piece.to > piece.from ? piece.to : piece.from;
		piece.task = next;
	}
	/* A longer chain: the task reached so far stands for the rest. */
	piece.to = to;
	thrum__slow_push(walk, piece);
}

uint32_t thrum__slow_push_below(struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t task, int64_t from, int64_t to)
{
	struct thrum__slow_piece below = {.task = task,
		.top = piece->top,
		.holder = piece->holder,
		.depth = piece->depth + 1,
		.from = from,
		.to = to};

	if (from >= to)
		return THRUM__NONE;
	below.frame = THRUM__NONE;
	if (thrum__slow_frame_find(walk->paths, piece->frame, task, THRUM__DOING_RUNS,
		    &below.frame) < 0)
		walk->failed = true;
	else if (below.top == THRUM__NONE && walk->paths->frames[below.frame].parent != THRUM__NONE)
		below.top = task;
	thrum__slow_push_chain(walk, below);
	return below.frame;
}
