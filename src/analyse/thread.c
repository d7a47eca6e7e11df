/* SPDX-License-Identifier: ISC */
#include "analyse/thread.h"

#include "base/time.h"

#define LOOK_BACK 65536 /* rows, of all lanes, that are searched for the last one of a lane */
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

bool thrum__analyse_thread_turns(const struct thrum__model *model, uint32_t lane,
	struct thrum__thread_turns *turns)
{
	uint32_t row = model->runs.count;

	*turns = (struct thrum__thread_turns){.timer = THRUM__NONE, .before = THRUM__NONE};
	while (row-- > model->runs.first && thrum__model_has_row(&model->runs, row)) {
		uint32_t task = THRUM__RUN(model, row, task);

		if (THRUM__RUN(model, row, lane) != lane || task == model->lanes[lane].task)
			continue;
		if (!thrum__model_has_row(&model->tasks, task))
			break;
		if (THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER) {
			turns->before = task;
			break;
		}
		if (turns->timer == THRUM__NONE)
			turns->timer = task;
		turns->count++;
		turns->since = THRUM__RUN(model, row, start);
	}
	return turns->count >= SLEEPS_MIN;
}
