/* SPDX-License-Identifier: ISC */
/* The rows of lanes: runs, suspensions, spans and gaps. */
#include <stdlib.h>

#include "model/parts.h"

/* No program has so many threads: a higher number of a lane is damage. */
#define LANES_MAX (1u << 20)
/* How many open spans are searched, at most, for the one that ends. */
#define SPAN_SEARCH 64

int64_t thrum__model_clock_error(const struct thrum__model *m, uint32_t a, uint32_t b, int64_t from,
	int64_t until)
{
	if (a >= m->lane_count || b >= m->lane_count)
		return 0;
	return thrum__read_clock_error(&m->clocks, m->lanes[a].host, m->lanes[b].host, from, until);
}

int thrum__model_lanes_grow(struct thrum__model *m, uint32_t number)
{
	void *lanes = m->lanes;

	if (number >= LANES_MAX)
		return -THRUM_E_DAMAGED;
	int error = thrum__model_array_grow(&lanes, &m->lane_room, number + 1, sizeof *m->lanes);

	m->lanes = lanes;
	if (error)
		return error;
	for (; m->lane_count <= number; m->lane_count++)
		m->lanes[m->lane_count] = (struct thrum__lane){
			.number = m->lane_count,
			.process = THRUM__NONE,
			.task = THRUM__NONE,
			.running = THRUM__NONE,
			.run = THRUM__NONE,
			.suspended = THRUM__NONE,
			.lost_until = -1,
			/* In thrum's own traces a lane may be a signal handler's: its events don't
			 * tell which task its thread runs. */
			.is_unknown = m->is_mirage,
		};
	return 0;
}

/* Adds a row to the table of spans, suspensions or gaps. Returns it, or NONE. */
static uint32_t add_interval(struct thrum__model_input *s, struct thrum__model_rows *rows,
	int64_t start, int64_t end, uint32_t text, uint64_t count)
{
	uint32_t row = thrum__model_rows_add(s->model, rows, sizeof(struct thrum__intervals),
		THRUM__BLOCK_SHIFT, start);

	if (row == THRUM__NONE)
		return row;
	struct thrum__intervals *block = rows->block[row >> THRUM__BLOCK_SHIFT];
	uint32_t i = row & THRUM__BLOCK_MASK;

	block->start[i] = start;
	block->end[i] = end;
	block->text[i] = text;
	block->count[i] = count;
	block->lane[i] = s->event->lane;
	return row;
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void end_run(struct thrum__model_input *s, int64_t time)
{
	struct thrum__model *m = s->model;
	struct thrum__lane *lane = s->lane;
	uint32_t run = lane->run;

	if (run == THRUM__NONE)
		return;
	uint32_t task = THRUM__RUN(m, run, task);

	THRUM__PUT(m, runs, run, end, time);
	if (task != lane->task)
		lane->ran += time - THRUM__RUN(m, run, start);
	if (thrum__model_has_row(&m->tasks, task))
		thrum__model_task_hear(m, task, time);
	lane->run = THRUM__NONE;
}

static void begin_run(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__model *m = s->model;
	uint32_t row = thrum__model_rows_add(m, &m->runs, sizeof(struct thrum__runs),
		THRUM__BLOCK_SHIFT, s->now);

	if (row == THRUM__NONE)
		return;
	struct thrum__runs *block = m->runs.block[row >> THRUM__BLOCK_SHIFT];
	uint32_t i = row & THRUM__BLOCK_MASK, before = THRUM__TASK(m, task, run);

	THRUM__PUT_IN(m, runs, block, row, start, s->now);
	THRUM__PUT_OPEN(m, runs, block, row, end);
	block->task[i] = task;
	block->prev[i] = before;
	block->lane[i] = s->event->lane;
	if (before == THRUM__NONE && THRUM__TASK(m, task, flags) & THRUM__TASK_PREEXISTING)
		THRUM__TASK(m, task, lane) = s->event->lane;
	THRUM__TASK(m, task, run) = row;
	thrum__model_task_hear(m, task, s->now);
	s->lane->run = row;
}

static void begin_suspension(struct thrum__model_input *s, int64_t time, uint32_t reason)
{
	s->lane->suspended = add_interval(s, &s->model->suspensions, time, THRUM__OPEN, reason, 0);
	s->lane->rests++;
}

static void end_suspension(struct thrum__model_input *s, int64_t time)
{
	struct thrum__lane *lane = s->lane;

	if (lane->suspended == THRUM__NONE)
		return;
	THRUM__SUSPENSION(s->model, lane->suspended, end) = time;
	lane->suspended_ns += time - THRUM__SUSPENSION(s->model, lane->suspended, start);
	lane->suspended = THRUM__NONE;
}

void thrum__model_lane_stop(struct thrum__model_input *s)
{
	end_run(s, s->now);
}

void thrum__model_lane_run(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__model *m = s->model;
	struct thrum__lane *lane = s->lane;

	lane->is_unknown = false;
	if (m->off & 1u << THRUM__PART_SWITCH) {
		lane->is_hidden = true;
		return;
	}
	end_suspension(s, s->now);
	/* In mirage's traces a task that has ended doesn't run again when it is switched to. */
	if (task == lane->running && (lane->run != THRUM__NONE || m->is_mirage))
		return;
	end_run(s, s->now);
	lane->running = task;
	if (task != THRUM__NONE &&
		(!m->is_mirage || THRUM__TASK(m, task, state) == THRUM__STATE_PENDING))
		begin_run(s, task);
}

/* ---- Suspensions --------------------------------------------------------------------------- */

void thrum__model_lane_suspend(struct thrum__model_input *s, uint32_t reason)
{
	if (s->model->off & 1u << THRUM__PART_SWITCH)
		return;
	end_run(s, s->now);
	end_suspension(s, s->now);
	begin_suspension(s, s->now, reason);
}

void thrum__model_lane_resume(struct thrum__model_input *s)
{
	struct thrum__lane *lane = s->lane;
	int64_t since = lane->hidden_until > lane->last ? lane->hidden_until : lane->last;

	if (s->model->off & 1u << THRUM__PART_SWITCH)
		return;
	/* The suspend event is lost. A lane has no events while it is suspended, so the suspension
	 * began at the lane's last one. */
	if (lane->suspended == THRUM__NONE)
		begin_suspension(s, since, thrum__model_text_of(s));
	end_suspension(s, s->now);
	if (lane->running != THRUM__NONE)
		thrum__model_lane_run(s, lane->running);
}

void thrum__model_lane_hide(struct thrum__model_input *s)
{
	struct thrum__lane *lane = s->lane;

	lane->is_hidden = lane->running != THRUM__NONE || lane->is_unknown;
	lane->is_unknown = false;
	end_run(s, s->now);
	end_suspension(s, s->now);
	lane->running = THRUM__NONE;
}

/* ---- Gaps ---------------------------------------------------------------------------------- */

void thrum__model_lane_gap(struct thrum__model_input *s, int64_t start, uint32_t cause,
	uint64_t count)
{
	struct thrum__model *m = s->model;
	struct thrum__lane *lane = s->lane;

	add_interval(s, &m->gaps, start, s->now, cause, count);
	m->lost = count > UINT64_MAX - m->lost ? UINT64_MAX : m->lost + count;
	lane->lost_until = s->now;
	/* The task that ran may or may not go on: the next event that names an acting task
	 * tells. */
	if (lane->running != THRUM__NONE) {
		THRUM__TASK(m, lane->running, flags) |= THRUM__TASK_UNSURE;
		lane->is_unknown = true;
	}
	end_run(s, lane->last);
	end_suspension(s, lane->last);
	lane->running = THRUM__NONE;
}

/* ---- Spans --------------------------------------------------------------------------------- */

/* Returns the lane's stack of open spans, with room for one more; NULL when there is no memory. */
static struct thrum__model_span_stack *push_span(struct thrum__lane *lane)
{
	if (!lane->spans)
		lane->spans = calloc(1, sizeof *lane->spans);
	if (!lane->spans)
		return NULL;
	void *all = lane->spans->all;
	int error = thrum__model_array_grow(&all, &lane->spans->room, lane->spans->count + 1,
		sizeof *lane->spans->all);

	lane->spans->all = all;
	return error ? NULL : lane->spans;
}

void thrum__model_lane_span_begin(struct thrum__model_input *s)
{
	struct thrum__model_span_stack *stack = push_span(s->lane);

	if (!stack) {
		s->model->failed = true;
		return;
	}
	uint32_t row = add_interval(s, &s->model->spans, s->now, THRUM__OPEN,
		thrum__model_text_of(s), stack->count);

	if (row != THRUM__NONE)
		stack->all[stack->count++] = row;
}

void thrum__model_lane_span_end(struct thrum__model_input *s)
{
	struct thrum__model *m = s->model;
	struct thrum__model_span_stack *stack = s->lane->spans;
	uint32_t text = thrum__model_text_of(s), count = stack ? stack->count : 0;
	uint32_t lowest = count > SPAN_SEARCH ? count - SPAN_SEARCH : 0, i = count;

	while (i > lowest && THRUM__SPAN(m, stack->all[i - 1], text) != text)
		i--;
	if (i == lowest)
		return;
	for (uint32_t k = i - 1; k < count; k++)
		THRUM__SPAN(m, stack->all[k], end) = s->now;
	stack->count = i - 1;
}

void thrum__model_lane_off_cpu(struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;
	int64_t length = e->value > 0 ? e->value : 0;
	int64_t end = length < THRUM__OPEN - s->time ? s->time + length : THRUM__OPEN;
	enum thrum__off_cpu_state state = thrum__read_off_cpu_state(e->text, e->text_size);
	uint32_t waker = e->flags & THRUM_EVENT_HAS_OTHER ? thrum__model_find(s->model, e->other)
							  : THRUM__NONE;

	s->model->has_unknown_off_cpu |= state == THRUM__OFF_CPU_UNKNOWN;
	add_interval(s, &s->model->off_cpu, s->time, end, thrum__model_text_of(s),
		(uint64_t)state | ((uint64_t)waker + 1) << 8);
}

void thrum__model_lane_gc(struct thrum__model_input *s)
{
	struct thrum__model *m = s->model;
	int64_t duration = s->event->value, start = 0;
	uint32_t name = thrum__model_strings_add(m->strings, "GC", 2);

	if (name == THRUM__NONE) {
		m->failed = true;
		return;
	}
	if (duration < 0)
		duration = 0;
	if (duration < s->now)
		start = s->now - duration;
	add_interval(s, &m->spans, start, s->now, name, s->lane->spans ? s->lane->spans->count : 0);
}
