/* SPDX-License-Identifier: ISC */
#include "analyse/thread.h"

#include "base/time.h"

#define LOOK_BACK 65536 /* rows, of all lanes, that are searched for the last ones of a lane */
#define SLEEPS_MIN 10
#define DYING 100000000 /* ns: the signal that ends a process wakes its threads, which takes time */

enum thrum__thread_state thrum__analyse_thread_state(const struct thrum__model *model,
	uint32_t task, int64_t *since)
{
	uint32_t run = THRUM__TASK(model, task, run), row = model->off_cpu.count;

	if (!thrum__model_has_row(&model->runs, run) || THRUM__RUN(model, run, end) != THRUM__OPEN)
		return THRUM__THREAD_UNKNOWN;
	for (uint32_t i = 0; i < LOOK_BACK && row > model->off_cpu.first; i++) {
		if (!thrum__model_has_row(&model->off_cpu, --row) ||
			THRUM__OFF_CPU(model, row, lane) != THRUM__RUN(model, run, lane))
			continue;
		int state = thrum__model_off_cpu_state(model, row);

		/* The rows of one time off the processor follow each other. */
		if (state == THRUM__OFF_CPU_WOKEN)
			continue;
		if (state == THRUM__OFF_CPU_UNKNOWN)
			return THRUM__THREAD_UNKNOWN;
		if ((state != THRUM__OFF_CPU_BLOCKED && state != THRUM__OFF_CPU_PAGING) ||
			thrum__base_time_between(THRUM__OFF_CPU(model, row, end), model->end) >
				DYING)
			return THRUM__THREAD_BUSY;
		*since = THRUM__OFF_CPU(model, row, start);
		return THRUM__THREAD_BLOCKED;
	}
	return THRUM__THREAD_UNKNOWN;
}

bool thrum__analyse_thread_sleeps(const struct thrum__model *model, const struct thrum__lane *lane,
	struct thrum__thread_sleeps *sleeps)
{
	uint32_t edge;

	*sleeps = (struct thrum__thread_sleeps){.timer = THRUM__NONE};
	if (lane->suspended == THRUM__NONE || lane->running == THRUM__NONE ||
		lane->running != lane->task || !thrum__model_has_row(&model->tasks, lane->task))
		return false;
	edge = THRUM__TASK(model, lane->task, edge_out);
	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_out)) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_LOCK || kind == THRUM__EDGE_UNLOCK)
			continue;
		if (!thrum__model_has_row(&model->tasks, to) ||
			THRUM__TASK(model, to, kind) != THRUM_KIND_TIMER)
			break;
		if (sleeps->timer == THRUM__NONE)
			sleeps->timer = to;
		if (THRUM__TASK(model, to, site) != THRUM__TASK(model, sleeps->timer, site))
			break;
		if (kind != THRUM__EDGE_WAIT)
			continue;
		sleeps->count++;
		sleeps->since = THRUM__EDGE(model, edge, time);
	}
	return sleeps->count >= SLEEPS_MIN;
}

/* Whether one of these runs is of that task, or both are of timers of one place. */
static bool is_among(const struct thrum__model *model, const uint32_t *runs, uint32_t count,
	uint32_t task)
{
	bool is_timer = THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = THRUM__RUN(model, runs[i], task);

		if (other == task ||
			(is_timer && THRUM__TASK(model, other, kind) == THRUM_KIND_TIMER &&
				THRUM__TASK(model, other, site) == THRUM__TASK(model, task, site)))
			return true;
	}
	return false;
}

static void note_run(const struct thrum__model *model, uint32_t run, int64_t before,
	struct thrum__thread_lasts *lasts)
{
	uint32_t task = THRUM__RUN(model, run, task);

	if (lasts->is_busy || lasts->count == THRUM__LASTS ||
		!thrum__model_has_row(&model->tasks, task) ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD ||
		is_among(model, lasts->still, lasts->still_count, task) ||
		is_among(model, lasts->runs, lasts->count, task))
		return;
	if (THRUM__RUN(model, run, start) < before)
		lasts->runs[lasts->count++] = run;
	else if (lasts->still_count < THRUM__LASTS)
		lasts->still[lasts->still_count++] = run;
	else
		lasts->is_busy = true;
}

void thrum__analyse_thread_lasts(const struct thrum__model *model, int64_t before,
	struct thrum__thread_lasts *lasts)
{
	uint32_t run = model->runs.count;

	for (uint32_t i = 0; i < LOOK_BACK && run > model->runs.first; i++)
		if (thrum__model_has_row(&model->runs, --run))
			note_run(model, run, before, &lasts[THRUM__RUN(model, run, lane)]);
}
