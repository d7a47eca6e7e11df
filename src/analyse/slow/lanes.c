/* SPDX-License-Identifier: ISC */
/* Tells what a lane did while a task could have run there, or waited for something unknown. */
#include <string.h>

#include "analyse/slow/parts.h"

#define RUNS_MAX 1024   /* a lane's runs in one time; of more, the rest belongs to several tasks */
#define CREATORS_MAX 16 /* creators searched for a task's ancestor */
#define IDLE_PERCENT 5  /* of a time: a shorter pause is part of the loop's own work */
#define IDLE 1000000    /* ns: a longer pause isn't, in any case */
#define AT_ONCE 100000  /* ns: in so short a pause, a loop is told of what came before */

uint32_t thrum__slow_lane_at(const struct thrum__slow_walk *walk, uint32_t task, int64_t time)
{
	const struct thrum__slices *runs = &walk->paths->runs;
	uint32_t i = thrum__slow_rows_before(walk->model, runs, task,
		time < INT64_MAX ? time + 1 : time, thrum__slow_run_start);

	if (i > runs->first[task])
		return THRUM__RUN(walk->model, runs->rows[i - 1], lane);
	return THRUM__NONE;
}

/* Whether a suspension only tells that the loop had nothing to do. */
static bool is_idle(const struct thrum__model *model, uint32_t suspension)
{
	uint32_t reason = THRUM__SUSPENSION(model, suspension, text);

	return !*thrum__model_string(model, reason, NULL) ||
		thrum__model_is_reason(model, reason, THRUM__REASON_WORK);
}

/* Whether the reason tells where a thread waits. Other tasks of its loop only see that it is idle. */
static bool has_place(const struct thrum__model *model, uint32_t suspension, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
		strstr(thrum__model_string(model, THRUM__SUSPENSION(model, suspension, text), NULL),
			": ");
}

int64_t thrum__slow_lane_busy_since(const struct thrum__slow_walk *walk, uint32_t lane,
	int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *all = &walk->paths->suspensions;
	int64_t least = (to - from) / 100 * IDLE_PERCENT;
	uint32_t i;

	least = least < IDLE ? least : IDLE;
	if (lane >= model->lane_count)
		return from;
	i = thrum__slow_rows_before(model, all, lane, to, thrum__slow_suspension_start);
	for (uint32_t looked = 0; i > all->first[lane] && looked < RUNS_MAX; looked++) {
		uint32_t row = all->rows[--i];
		int64_t start = THRUM__SUSPENSION(model, row, start);
		int64_t end = THRUM__SUSPENSION(model, row, end);

		if (end <= from)
			break;
		start = start > from ? start : from;
		end = end < to ? end : to;
		if (is_idle(model, row) && end - start > least)
			return end;
	}
	return from;
}

int64_t thrum__slow_lane_turn(const struct thrum__slow_walk *walk, uint32_t lane, int64_t from,
	int64_t to)
{
	const struct thrum__slices *all = &walk->paths->suspensions;
	int64_t before = to;
	uint32_t i;

	if (lane >= walk->model->lane_count)
		return to;
	i = thrum__slow_rows_before(walk->model, all, lane, to, thrum__slow_suspension_start);
	while (i > all->first[lane] && before > from) {
		uint32_t row = all->rows[--i];
		int64_t end = THRUM__SUSPENSION(walk->model, row, end);

		if (!is_idle(walk->model, row))
			continue;
		if (before < to || end - THRUM__SUSPENSION(walk->model, row, start) > AT_ONCE)
			return end > from ? end : from;
		before = THRUM__SUSPENSION(walk->model, row, start);
	}
	return before > from ? to : from;
}

/* Whether `task` was created by `ancestor`, or by one that was, and so on. */
static bool descends(const struct thrum__model *model, uint32_t task, uint32_t ancestor)
{
	for (int i = 0; i < CREATORS_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		task = THRUM__TASK(model, task, creator);
		if (task == ancestor)
			return true;
	}
	return false;
}

/* Adds parts for a time in which no task ran on the lane. */
static void add_pause(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *all = &walk->paths->suspensions;
	uint32_t i = thrum__slow_rows_before(model, all, lane, to, thrum__slow_suspension_start);

	for (uint32_t looked = 0; i > all->first[lane] && from < to && looked < RUNS_MAX;
		looked++) {
		uint32_t row = all->rows[--i];
		int64_t start = THRUM__SUSPENSION(model, row, start);
		int64_t end = THRUM__SUSPENSION(model, row, end);
		struct thrum__slow_piece named = *piece;

		if (end <= from)
			break;
		end = end < to ? end : to;
		start = start > from ? start : from;
		thrum__slow_part_add(walk, piece, end, to, THRUM__DOING_WAITS, THRUM__NONE);
		if (is_idle(model, row) && !has_place(model, row, piece->task))
			thrum__slow_part_add(walk, piece, start, end, THRUM__DOING_WAITS,
				THRUM__NONE);
		else if (thrum__slow_frame_suspended(walk->paths, piece->frame,
				 THRUM__SUSPENSION(model, row, text), &named.frame) < 0)
			walk->failed = true;
		else
			thrum__slow_part_add(walk, &named, start, end, THRUM__DOING_SUSPENDED,
				THRUM__NONE);
		to = start < to ? start : to;
	}
	thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
}

/* Whether a task that has the lane keeps it from others. A lane's own task may only wait for work,
 * if the program doesn't record when it does. */
static bool is_busy(const struct thrum__slow_walk *walk, uint32_t lane, uint32_t task)
{
	const struct thrum__slices *all = &walk->paths->suspensions;

	return !walk->model->is_mirage &&
		(!thrum__slow_is_ground(walk->model, task) ||
			all->first[lane] < all->first[lane + 1]);
}

/* Goes on with a task that has the lane, but waits itself, as a blocked thread does: the time belongs
 * to whatever it waits for. Returns false if it doesn't wait. */
static bool add_blocked(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t other, int64_t from, int64_t to, int doing)
{
	struct thrum__slow_piece below = {.task = other,
		.top = piece->top == THRUM__NONE ? other : piece->top,
		.holder = piece->holder,
		.depth = piece->depth + 1,
		.from = from,
		.to = to};

	if (!thrum__slow_explains(walk, piece, other) ||
		thrum__slow_wait_last(walk, &below).task == THRUM__NONE)
		return false;
	if (thrum__slow_frame_find(walk->paths, piece->frame, other, doing, &below.frame) < 0)
		walk->failed = true;
	thrum__slow_push(walk, below);
	return true;
}

/* Adds a part for a time in which another task ran on the lane. A task that the piece's task created
 * works for it, and so do all tasks of a lane for the lane's own task: the path goes on with it. */
static void add_run(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, uint32_t other, int64_t from, int64_t to, int doing)
{
	if (other != piece->task && thrum__slow_explains(walk, piece, other) &&
		(thrum__slow_is_ground(walk->model, piece->task) ||
			descends(walk->model, other, piece->task)))
		thrum__slow_push_below(walk, piece, other, from, to);
	else if (other == piece->task)
		thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_RUNS, THRUM__NONE);
	else if (doing >= THRUM__DOING_QUEUED && !is_busy(walk, lane, other))
		thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
	else if (!add_blocked(walk, piece, other, from, to, doing))
		thrum__slow_part_add(walk, piece, from, to, doing, other);
}

/* A run on a lane: its task and its end, or NONE. */
struct before {
	uint32_t task;
	int64_t end;
};

/* A lane's suspension in the middle of a run that ended at one time and went on at another: its task has not
 * left the lane. NONE: there is none. */
static uint32_t interruption(const struct thrum__slow_walk *walk, uint32_t lane, int64_t end,
	int64_t on)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *all = &walk->paths->suspensions;
	uint32_t i = thrum__slow_rows_before(model, all, lane, on, thrum__slow_suspension_start);

	return i > all->first[lane] && THRUM__SUSPENSION(model, all->rows[i - 1], start) == end &&
			THRUM__SUSPENSION(model, all->rows[i - 1], end) == on
		? all->rows[i - 1]
		: THRUM__NONE;
}

/* Adds parts for a time between two runs on the lane, of which the second begins then. If a task blocked its
 * thread meanwhile, one that was ready waited for the same, or else for that task. */
static void add_between(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, struct before run, uint32_t next, int64_t from, int64_t to, int doing)
{
	bool is_blocked = doing != THRUM__DOING_QUEUED && run.task == next &&
		run.task != piece->task && !thrum__slow_is_ground(walk->model, run.task);
	uint32_t row = is_blocked ? interruption(walk, lane, run.end, to) : THRUM__NONE;

	/* A thread that sleeps wakes up late, as the machine has others to run. */
	if (row != THRUM__NONE && doing == THRUM__DOING_LATE &&
		thrum__slow_is_waiting(walk, piece->depth,
			thrum__model_heir(walk->model, run.task)))
		thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
	else if (row != THRUM__NONE && !is_idle(walk->model, row))
		add_run(walk, piece, lane, run.task, from, to, doing);
	else if (row == THRUM__NONE || !add_blocked(walk, piece, run.task, from, to, doing))
		add_pause(walk, piece, lane, from, to);
}

void thrum__slow_lane_add(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to, int doing)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->lane_runs;
	uint32_t i, looked = 0, next = THRUM__NONE;
	struct before before = {.task = THRUM__NONE};

	if (from >= to)
		return;
	if (lane >= model->lane_count) {
		thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
		return;
	}
	i = thrum__slow_rows_before(model, runs, lane, to, thrum__slow_run_start);
	for (; i > runs->first[lane] && from < to && looked < RUNS_MAX; looked++) {
		uint32_t run = runs->rows[--i];
		int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

		before = (struct before){THRUM__RUN(model, run, task), end};
		if (end <= from)
			break;
		end = end < to ? end : to;
		start = start > from ? start : from;
		if (end < to)
			add_between(walk, piece, lane, before, next, end, to, doing);
		if (start < end)
			add_run(walk, piece, lane, before.task, start, end, doing);
		to = start < to ? start : to;
		next = before.task;
		before.task = THRUM__NONE;
	}
	if (looked == RUNS_MAX)
		thrum__slow_part_add(walk, piece, from, to, doing, THRUM__NONE);
	else if (from < to)
		add_between(walk, piece, lane, before, next, from, to, doing);
}
