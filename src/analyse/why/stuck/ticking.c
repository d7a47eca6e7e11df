/* SPDX-License-Identifier: ISC */
/*
 * Tells whether nothing but timers goes on in a program: all other threads wait for each other, nothing from
 * outside can come, and the timers have come round without an effect.
 */
#include "analyse/why/stuck/stuck.h"

#define TURNS_MIN 10    /* runs of timers without an effect */
#define LONG 1000000000 /* ns; in less time timers may yet have an effect */
#define ROUNDS 2        /* a timer that came so often without an effect has none */
#define SIGNALS_MIN 4
#define TIMES 20       /* as long as ever before, a condition isn't signalled */
#define LOOK_BACK 1024 /* edges of a condition that are searched for signals */

bool thrum__why_heard_outside(const struct thrum__model *model)
{
	struct thrum__message message;

	for (uint32_t i = 0; i < thrum__model_message_count(model); i++)
		if (thrum__model_message_from_outside(model, i, &message))
			return true;
	return false;
}

bool thrum__why_awaits_outside(const struct thrum__model *model, const char *const *own,
	size_t count, bool by_timers)
{
	THRUM__EACH_TASK (model, task) {
		int kind = THRUM__TASK(model, task, kind);

		if ((kind == THRUM_KIND_REQUEST || kind == THRUM_KIND_HANDLE ||
			    (by_timers && kind == THRUM_KIND_TIMER)) &&
			thrum__analyse_task_is_pending(model, task) &&
			!thrum__why_begins_with(model, task, own, count))
			return true;
	}
	return false;
}

/* Counts the runs of timers in a lane in the last second and before, until another task ran there;
 * 0: one did in the last second. */
static uint32_t count_turns(const struct thrum__model *model, uint32_t lane)
{
	uint32_t row = model->runs.count, count = 0;

	while (row-- > model->runs.first && thrum__model_has_row(&model->runs, row) &&
		(count < TURNS_MIN || THRUM__RUN(model, row, start) > model->end - LONG)) {
		uint32_t task = THRUM__RUN(model, row, task);

		if (THRUM__RUN(model, row, lane) != lane ||
			!thrum__model_has_row(&model->tasks, task) ||
			THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD)
			continue;
		if (THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER)
			return THRUM__RUN(model, row, start) <= model->end - LONG ? count : 0;
		count++;
	}
	return count;
}

/* Whether each thread is blocked, or comes round with nothing but timers. */
static bool are_idle(const struct thrum__model *model)
{
	uint32_t turning = 0;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];

		if (!thrum__analyse_task_is_pending(model, lane->task) ||
			thrum__why_rests_for(model, lane->suspended, THRUM__REASON_BLOCKED))
			continue;
		if (!thrum__why_rests_for(model, lane->suspended, THRUM__REASON_WORK) ||
			count_turns(model, i) < TURNS_MIN)
			return false;
		turning++;
	}
	return turning > 0;
}

static const char *const loops[] = {"main loop, run by ", "async "};

/* Whether a timer is pending and hasn't run since a time. One that runs a loop itself waits for its end. */
static bool rests_since(const struct thrum__model *model, uint32_t timer, int64_t time)
{
	uint32_t run = THRUM__TASK(model, timer, run), edge = THRUM__TASK(model, timer, edge_out);

	return thrum__analyse_task_is_pending(model, timer) &&
		!(thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, start) > time) &&
		!(thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__why_begins_with(model, THRUM__EDGE(model, edge, to), loops, 1));
}

/* When the main loop around this one was told to end; THRUM__OPEN: it wasn't. */
static int64_t outer_end(const struct thrum__model *model, uint32_t loop)
{
	THRUM__EDGES_TO (model, loop, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, from) &&
			thrum__analyse_task_is_pending(model, from) &&
			thrum__why_begins_with(model, from, loops, 1))
			return THRUM__EDGE(model, edge, time);
	}
	return THRUM__OPEN;
}

bool thrum__why_covers_loop(const struct thrum__model *model, uint32_t loop)
{
	int64_t since;

	if (!thrum__why_begins_with(model, loop, loops, 1))
		return false;
	since = outer_end(model, loop);
	if (since > model->end - LONG || !are_idle(model) ||
		thrum__why_awaits_outside(model, loops, 2, false))
		return false;
	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			rests_since(model, task, since))
			return false;
	return true;
}

/* Whether a task has run so often since a time that its next run changes nothing, either. */
static bool has_come_round(const struct thrum__model *model, uint32_t task, int64_t since)
{
	uint32_t run = THRUM__TASK(model, task, run), count = 0;

	for (; count < ROUNDS && thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, start) >= since;
		run = THRUM__RUN(model, run, prev))
		count++;
	return count == ROUNDS;
}

bool thrum__why_is_of_timer(const struct thrum__model *model, uint32_t task)
{
	uint32_t creator = THRUM__TASK(model, task, creator);

	return thrum__model_has_row(&model->tasks, creator) &&
		THRUM__TASK(model, creator, kind) == THRUM_KIND_TIMER &&
		thrum__analyse_task_is_pending(model, creator);
}

static bool is_of_job(const struct thrum__model *model, uint32_t task)
{
	int kind = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, kind)
							     : THRUM_KIND_THREAD;

	return kind != THRUM_KIND_THREAD && kind != THRUM_KIND_TIMER;
}

bool thrum__why_only_timers_ran(const struct thrum__model *model)
{
	for (uint32_t run = thrum__analyse_run_from(model, model->end - LONG);
		thrum__model_has_row(&model->runs, run); run++) {
		uint32_t task = THRUM__RUN(model, run, task);

		if (!thrum__model_has_row(&model->tasks, task) || is_of_job(model, task))
			return false;
	}
	return true;
}

bool thrum__why_only_ticks(const struct thrum__model *model, int64_t since)
{
	if (!thrum__why_only_timers_ran(model))
		return false;
	THRUM__EACH_TASK (model, task) {
		int kind = THRUM__TASK(model, task, kind);
		bool is_due = kind == THRUM_KIND_TIMER || thrum__why_due_of(model, task) >= 0 ||
			THRUM__TASK(model, task, flags) & THRUM__TASK_DUE;

		if (thrum__analyse_task_is_pending(model, task) &&
			(kind == THRUM_KIND_REQUEST ||
				(is_due && !has_come_round(model, task, since))))
			return false;
		if (kind != THRUM_KIND_TIMER && thrum__why_is_of_timer(model, task))
			return false;
	}
	return true;
}

uint32_t thrum__why_last_voice(const struct thrum__model *model, uint32_t condition)
{
	static const char *const own[] = {"async "};
	uint32_t last = THRUM__NONE, count = 0;
	int64_t longest = 0, next = 0;

	THRUM__ACTS_ON (model, condition, edge, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		int64_t time = THRUM__EDGE(model, edge, time);

		/* A timer that signalled may do so again, and a thread does it for whatever it runs. */
		if (!is_of_job(model, THRUM__EDGE(model, edge, from)))
			return THRUM__NONE;
		if (count++ == 0)
			last = edge;
		else if (next - time > longest)
			longest = next - time;
		next = time;
	}
	if (count < SIGNALS_MIN || model->is_joined || thrum__why_is_polite(model))
		return THRUM__NONE;
	next = THRUM__EDGE(model, last, time);
	return model->end - next >= LONG && (model->end - next) / TIMES > longest &&
			are_idle(model) && !thrum__why_awaits_outside(model, own, 1, false) &&
			thrum__why_only_ticks(model, next)
		? last
		: THRUM__NONE;
}
