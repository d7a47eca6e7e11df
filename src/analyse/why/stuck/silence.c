/* SPDX-License-Identifier: ISC */
/* Tells whether a program fell silent, or has nothing left but timers, and was killed for it. */
#include "analyse/why/parts.h"

#define SILENCE_MIN 200000000 /* ns */
#define TIMES 10              /* as long as the longest silence before */
#define STILL 4               /* the same, if timers go on */
#define PAUSE_BACK 1000000000 /* ns before the end in which pauses are looked for */
#define RUNS_BACK 64          /* runs that are searched for one that lasted, from a time back */
#define EVENTS_MIN 32         /* with fewer events, nothing tells how long silences are */

/* The first row of a table from `row` on that isn't forgotten. */
static uint32_t next_row(const struct thrum__model_rows *rows, uint32_t row)
{
	while (row < rows->count && !thrum__model_has_row(rows, row))
		row = (row | THRUM__BLOCK_MASK) + 1;
	return row;
}

/* The longest time without an event among some events, which are told in the order of time. */
struct silence {
	int64_t longest;
	int64_t begun, last; /* when it began, and when the last event was; -1: never */
};

static const struct silence no_silence = {0, -1, -1};

static void hear(struct silence *silence, int64_t time)
{
	if (silence->last >= 0 && time - silence->last > silence->longest) {
		silence->longest = time - silence->last;
		silence->begun = silence->last;
	}
	silence->last = time > silence->last ? time : silence->last;
}

/* Adds a pause that ends later than all others. Where there are too many, it replaces the shortest. from < 0:
 * there was no event before, so there is no pause. */
static void note_pause(struct thrum__why_pauses *pauses, int64_t from, int64_t to)
{
	struct thrum__why_pause *all = pauses->all;

	if (from < 0)
		return;
	while (pauses->count > 0 &&
		all[pauses->count - 1].to - all[pauses->count - 1].from <= to - from)
		pauses->count--;
	pauses->count -= pauses->count == THRUM__PAUSES;
	all[pauses->count++] = (struct thrum__why_pause){.from = from, .to = to};
}

/* Whether a run is one of a task that is neither a timer nor a thread. */
static bool is_work(const struct thrum__model *model, uint32_t run)
{
	uint32_t task = THRUM__RUN(model, run, task);

	return thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_THREAD;
}

/* Finds the longest time without an event from a time on: creations, edges and runs. `worked` leaves out the
 * runs that are no work. Adds each time without an event to the pauses. */
static void find_silence(const struct thrum__model *model, int64_t from, struct silence *any,
	struct silence *worked, struct thrum__why_pauses *pauses)
{
	uint32_t task = thrum__analyse_next_task(model, thrum__analyse_task_from(model, from));
	uint32_t edge = thrum__analyse_edge_from(model, from);
	uint32_t run = next_row(&model->runs, thrum__analyse_run_from(model, from));

	*any = *worked = no_silence;
	for (;;) {
		int64_t created = task < model->tasks.count ? THRUM__TASK(model, task, created)
							    : THRUM__OPEN;
		int64_t met = edge < model->edges.count ? THRUM__EDGE(model, edge, time)
							: THRUM__OPEN;
		int64_t ran = run < model->runs.count ? THRUM__RUN(model, run, start) : THRUM__OPEN;
		int64_t time = created < met ? created : met;

		time = ran < time ? ran : time;
		if (time == THRUM__OPEN)
			return;
		note_pause(pauses, any->last, time);
		hear(any, time);
		if (time == created || time == met || is_work(model, run))
			hear(worked, time);
		if (time == created)
			task = thrum__analyse_next_task(model, task + 1);
		else if (time == met)
			edge = next_row(&model->edges, edge + 1);
		else
			run = next_row(&model->runs, run + 1);
	}
}

/* HUP, INT, PIPE, ALRM and TERM have these numbers in all Unix systems. */
bool thrum__why_is_polite(const struct thrum__model *model)
{
	int signal = model->ending_code;

	return model->ending == THRUM_ENDING_KILLED &&
		(signal == 1 || signal == 2 || signal == 13 || signal == 14 || signal == 15);
}

void thrum__why_find_silence(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	int64_t silence = model->end - model->last, rest;
	struct silence any, worked;

	search->is_silent = search->is_still = false;
	if (model->ending != THRUM_ENDING_KILLED || thrum__why_is_polite(model) ||
		model->events < EVENTS_MIN)
		return;
	find_silence(model, INT64_MIN, &any, &worked, &search->pauses);
	rest = model->end - worked.last;
	search->is_silent = silence >= SILENCE_MIN && silence / TIMES >= any.longest;
	search->is_still = rest >= THRUM__SOON_OUTSIDE && rest / STILL >= worked.longest;
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

/* Whether a task was due in the first half of a pause and ended later, or has not ended though its thread
 * waits for work: that was not let run. */
static bool has_held_task(const struct thrum__model *model, const struct thrum__why_pause *pause)
{
	uint32_t task = thrum__analyse_task_from(model, model->end - PAUSE_BACK);

	for (task = thrum__analyse_next_task(model, task); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1)) {
		int64_t due = thrum__why_due_of(model, task);

		if (due < pause->from || due - pause->from > pause->to - due)
			continue;
		if (thrum__analyse_task_is_pending(model, task)
				? thrum__why_thread_rests_for(model, task, THRUM__REASON_WORK)
				: THRUM__TASK(model, task, end) >= pause->to)
			return true;
	}
	return false;
}

void thrum__why_find_pauses(const struct thrum__model *model, struct thrum__why_pauses *pauses)
{
	int64_t from = model->end - PAUSE_BACK;
	struct silence any, worked;

	pauses->count = 0;
	if (!thrum__why_is_too_soon(model, 0, false))
		return;
	/* The time whose events are overwritten only seems to be silent. */
	if (model->is_cut && model->whole > from)
		from = model->whole;
	find_silence(model, from, &any, &worked, pauses);
	note_pause(pauses, any.last, model->end);
	for (unsigned i = 0; i < pauses->count; i++) {
		struct thrum__why_pause *pause = &pauses->all[i];

		pause->is_at_work = has_run_for(model, pause->from, pause->to) ||
			has_held_task(model, pause);
	}
}
