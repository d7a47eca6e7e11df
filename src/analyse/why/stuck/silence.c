/* SPDX-License-Identifier: ISC */
/* Tells whether a program fell silent, or has nothing left but timers, and was killed for it. */
#include "analyse/why/parts.h"

#define SILENCE_MIN 200000000 /* ns */
#define TIMES 10              /* as long as the longest silence before */
#define STILL 4               /* the same, if timers go on */
#define PAUSE_BACK 1000000000 /* ns before the end in which a pause is looked for */
#define RUNS_BACK 64          /* runs that are searched for one that lasted, from a time back */
#define EVENTS_MIN 32         /* with fewer events, nothing tells how long silences are */

/* The first row of a table from `row` on that isn't forgotten. */
static uint32_t next_row(const struct thrum__model_rows *rows, uint32_t row)
{
	while (row < rows->count && !thrum__model_has_row(rows, row))
		row = (row | THRUM__BLOCK_MASK) + 1;
	return row;
}

/* The first run from `run` on; without timers, of a task that is neither one nor a thread. */
static uint32_t next_run(const struct thrum__model *model, uint32_t run, bool has_timers)
{
	for (run = next_row(&model->runs, run); !has_timers && run < model->runs.count;
		run = next_row(&model->runs, run + 1)) {
		uint32_t task = THRUM__RUN(model, run, task);

		if (thrum__model_has_row(&model->tasks, task) &&
			THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER &&
			THRUM__TASK(model, task, kind) != THRUM_KIND_THREAD)
			break;
	}
	return run;
}

/* The longest time between two events from a time on, but before the last one: creations, edges and runs;
 * without timers, all but their runs. Sets *begun to when it began, and *last to when the last event was; or
 * to -1. */
static int64_t longest_silence(const struct thrum__model *model, int64_t from, bool has_timers,
	int64_t *begun, int64_t *last)
{
	uint32_t task = thrum__analyse_next_task(model, thrum__analyse_task_from(model, from));
	uint32_t edge = thrum__analyse_edge_from(model, from);
	uint32_t run = next_run(model, thrum__analyse_run_from(model, from), has_timers);
	int64_t before = -1, longest = 0;

	*begun = -1;

	for (;;) {
		int64_t created = task < model->tasks.count ? THRUM__TASK(model, task, created)
							    : THRUM__OPEN;
		int64_t met = edge < model->edges.count ? THRUM__EDGE(model, edge, time)
							: THRUM__OPEN;
		int64_t ran = run < model->runs.count ? THRUM__RUN(model, run, start) : THRUM__OPEN;
		int64_t time = created < met ? created : met;

		time = ran < time ? ran : time;
		*last = before;
		if (time == THRUM__OPEN)
			return longest;
		if (before >= 0 && time - before > longest) {
			longest = time - before;
			*begun = before;
		}
		before = time > before ? time : before;
		if (time == created)
			task = thrum__analyse_next_task(model, task + 1);
		else if (time == met)
			edge = next_row(&model->edges, edge + 1);
		else
			run = next_run(model, run + 1, has_timers);
	}
}

/* HUP, INT, PIPE, ALRM and TERM have these numbers in all Unix systems. */
bool thrum__why_is_polite(const struct thrum__model *model)
{
	int signal = model->ending_code;

	return model->ending == THRUM_ENDING_KILLED &&
		(signal == 1 || signal == 2 || signal == 13 || signal == 14 || signal == 15);
}

bool thrum__why_is_silent(const struct thrum__model *model)
{
	int64_t silence = model->end - model->last, begun, last;

	return model->ending == THRUM_ENDING_KILLED && !thrum__why_is_polite(model) &&
		model->events >= EVENTS_MIN && silence >= SILENCE_MIN &&
		silence / TIMES >= longest_silence(model, INT64_MIN, true, &begun, &last);
}

bool thrum__why_is_still(const struct thrum__model *model)
{
	int64_t longest, begun, last;

	if (model->ending != THRUM_ENDING_KILLED || thrum__why_is_polite(model) ||
		model->events < EVENTS_MIN)
		return false;
	longest = longest_silence(model, INT64_MIN, false, &begun, &last);
	return model->end - last >= THRUM__SOON_OUTSIDE && (model->end - last) / STILL >= longest;
}

/* Whether a task ran all the time between two times: one that isn't a thread's own. */
static bool has_run_for(const struct thrum__model *model, int64_t from, int64_t to)
{
	uint32_t run = thrum__analyse_run_from(model, from + 1);

	for (int i = 0; i < RUNS_BACK && run > model->runs.first &&
		thrum__model_has_row(&model->runs, run - 1);
		i++) {
		run--;
		if (THRUM__RUN(model, run, end) >= to &&
			!thrum__analyse_task_is_lane(model, THRUM__RUN(model, run, task)))
			return true;
	}
	return false;
}

struct thrum__why_pause thrum__why_find_pause(const struct thrum__model *model)
{
	struct thrum__why_pause pause = {-1, -1, false};
	int64_t longest, last;

	if (!thrum__why_is_too_soon(model, 0, false))
		return pause;
	longest = longest_silence(model, model->end - PAUSE_BACK, true, &pause.from, &last);
	pause.to = pause.from + longest;
	if (last >= 0 && model->end - last >= longest) {
		pause.from = last;
		pause.to = model->end;
	}
	pause.is_at_work = pause.from >= 0 && has_run_for(model, pause.from, pause.to);
	return pause;
}
