/* SPDX-License-Identifier: ISC */
/*
 * Tells whether nothing but timers goes on in a program: all other threads wait for each other, nothing from
 * outside can come, and the timers have come round without an effect.
 */
#include "analyse/why/parts.h"

#define TURNS_MIN 10    /* runs of timers without an effect */
#define LONG 1000000000 /* ns; in less time timers may yet have an effect */
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

static bool is_of_job(const struct thrum__model *model, uint32_t task)
{
	int kind = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, kind)
							     : THRUM_KIND_THREAD;

	return kind != THRUM_KIND_THREAD && kind != THRUM_KIND_TIMER;
}

uint32_t thrum__why_last_voice(const struct thrum__model *model, uint32_t condition)
{
	static const char *const own[] = {"async "};
	uint32_t edge = THRUM__TASK(model, condition, edge_in), last = THRUM__NONE, count = 0;
	int64_t longest = 0, next = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
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
			are_idle(model) && !thrum__why_awaits_outside(model, own, 1, false)
		? last
		: THRUM__NONE;
}
