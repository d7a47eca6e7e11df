/* SPDX-License-Identifier: ISC */
/* The parts of a path in which a task runs, and its thread may be off its processor. */
#include "analyse/slow/parts.h"
#include "analyse/slow/path.h"

/* The own task of the thread that ended a lane's time off its processor, rows[i]; NONE: not known. */
static uint32_t waker_of(const struct thrum__model *model, const struct thrum__slices *off_cpu,
	uint32_t lane, uint32_t i)
{
	uint32_t row = off_cpu->rows[i];
	int64_t end = THRUM__OFF_CPU(model, row, end);

	if (thrum__model_off_cpu_state(model, row) == THRUM__OFF_CPU_BLOCKED &&
		i + 1 < off_cpu->first[lane + 1] &&
		THRUM__OFF_CPU(model, off_cpu->rows[i + 1], start) == end)
		row = off_cpu->rows[i + 1];
	return thrum__model_off_cpu_state(model, row) == THRUM__OFF_CPU_WOKEN
		? thrum__model_off_cpu_waker(model, row)
		: THRUM__NONE;
}

/* Names the doing of a task in a run whose thread is off its processor: enum thrum__off_cpu_state. */
static int doing_off_cpu(int state)
{
	switch (state) {
	case THRUM__OFF_CPU_BLOCKED: return THRUM__DOING_BLOCKED;
	case THRUM__OFF_CPU_FAULT:
	case THRUM__OFF_CPU_PAGING: return THRUM__DOING_FAULTS;
	case THRUM__OFF_CPU_INTERRUPTED: return THRUM__DOING_INTERRUPTED;
	default: return THRUM__DOING_PREEMPTED;
	}
}

/* Goes on with the task that ran when its thread woke the blocked one of a piece. Returns false if it
 * isn't known, or waits itself for this piece's task. */
static bool walk_waker(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t waker, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->lane_runs;
	uint32_t lane, i, frame;

	if (!thrum__model_has_row(&model->tasks, waker))
		return false;
	lane = THRUM__TASK(model, waker, lane);
	if (lane >= model->lane_count)
		return false;
	i = thrum__slow_rows_before(model, runs, lane, to, thrum__slow_run_start);
	if (i > runs->first[lane] && THRUM__RUN(model, runs->rows[i - 1], end) >= to)
		waker = THRUM__RUN(model, runs->rows[i - 1], task);
	if (!thrum__slow_can_follow(walk, piece, waker))
		return false;
	frame = thrum__slow_push_below(walk, piece, waker, from, to);
	if (frame != piece->frame && frame != THRUM__NONE)
		walk->paths->frames[frame].is_waker = true;
	return true;
}

void thrum__slow_run_add(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	uint32_t lane, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *off_cpu = &walk->paths->off_cpu;
	uint32_t i = lane < model->lane_count
		? thrum__slow_rows_before(model, off_cpu, lane, to, thrum__slow_off_cpu_start)
		: 0;

	while (from < to && lane < model->lane_count && i > off_cpu->first[lane]) {
		uint32_t row = off_cpu->rows[--i];
		int64_t start = THRUM__OFF_CPU(model, row, start);
		int64_t end = THRUM__OFF_CPU(model, row, end);

		if (end <= from)
			break;
		start = start > from ? start : from;
		end = end < to ? end : to;
		int state = thrum__model_off_cpu_state(model, row);
		uint32_t waker = waker_of(model, off_cpu, lane, i);

		if (state == THRUM__OFF_CPU_UNKNOWN)
			continue;
		thrum__slow_part_add(walk, piece, end, to, THRUM__DOING_RUNS, THRUM__NONE);
		if (state != THRUM__OFF_CPU_BLOCKED || !walk_waker(walk, piece, waker, start, end))
			thrum__slow_part_add(walk, piece, start, end, doing_off_cpu(state), waker);
		to = start;
	}
	thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_RUNS, THRUM__NONE);
}
