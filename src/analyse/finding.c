/* SPDX-License-Identifier: ISC */
/*
 * From each task that should have resolved and didn't: along what it waits for, to where nobody
 * waits any more. If that is a condition, whether its signal came before the wait.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/finding.h"

#define FINDINGS_MAX 100 /* the oldest; more would be read by nobody */
#define LOOK_BACK 64     /* edges: what a task waits for is among the last things it did */

const char *thrum__finding_name(int class)
{
	static const char *const names[] = {
#define THRUM__X(NAME, word) word,
		THRUM__FINDINGS(THRUM__X)
#undef THRUM__X
	};

	return class >= 0 && class < THRUM__FINDING_CLASSES ? names[class] : "unknown";
}

static bool is_pending(const struct thrum__model *model, uint32_t task)
{
	return thrum__has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, state) == THRUM__STATE_PENDING;
}

/* The edge by which the task began to wait for what still hasn't come; NONE: it waits for nothing.
 */
static uint32_t last_wait(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (int i = 0; i < LOOK_BACK && thrum__has_row(&model->edges, edge); i++) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			is_pending(model, thrum__model_heir(model, THRUM__EDGE(model, edge, to))))
			return edge;
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	return THRUM__NONE;
}

/* ---- Conditions ---------------------------------------------------------------------------- */

static bool is_condition(const struct thrum__model *model, uint32_t task)
{
	return thrum__has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, kind) == THRUM_KIND_CONDITION;
}

/* Whether a condition did something of its own in from … to: resolved a waiter, made one. */
static bool acted(const struct thrum__model *model, uint32_t condition, int64_t from, int64_t to)
{
	uint32_t edge = THRUM__TASK(model, condition, edge_out), low = model->tasks.first,
		 high = model->tasks.count;

	for (; thrum__has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) >= from;
		edge = THRUM__EDGE(model, edge, prev_out)) {
		if (THRUM__EDGE(model, edge, time) < to &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_RESOLVE)
			return true;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (thrum__has_row(&model->tasks, middle) &&
			THRUM__TASK(model, middle, created) >= from)
			high = middle;
		else
			low = middle + 1;
	}
	for (; thrum__has_row(&model->tasks, low) && THRUM__TASK(model, low, created) < to; low++) {
		if (THRUM__TASK(model, low, creator) == condition)
			return true;
	}
	return false;
}

/*
 * Whether nobody heard a signal. thrum's say so. mirage-profile's don't, and beginning to wait
 * looks like a signal too: only one after which the condition does nothing was lost.
 */
static bool is_lost(const struct thrum__model *model, uint32_t signal, int64_t next)
{
	uint32_t condition = THRUM__EDGE(model, signal, to);

	if (!model->is_mirage)
		return THRUM__EDGE(model, signal, value) == 0;
	return !acted(model, condition, THRUM__EDGE(model, signal, time), next);
}

/* The latest signal before `wait` that nobody heard, if none came afterwards; else NONE. */
static uint32_t lost_signal(const struct thrum__model *model, uint32_t condition, int64_t wait)
{
	uint32_t edge = THRUM__TASK(model, condition, edge_in);
	int64_t next = THRUM__OPEN;

	for (; thrum__has_row(&model->edges, edge); edge = THRUM__EDGE(model, edge, prev_in)) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		/* Of mirage-profile's, the one by which the wait itself began lies just before. */
		bool is_wait = model->is_mirage && !is_lost(model, edge, next);

		if (time > wait && !is_wait)
			return THRUM__NONE;
		if (!is_wait)
			return is_lost(model, edge, next) ? edge : THRUM__NONE;
		next = time;
	}
	return THRUM__NONE;
}

/* ---- Findings ------------------------------------------------------------------------------ */

static void add_step(struct thrum__finding *finding, int kind, uint32_t task, uint32_t other,
	int64_t time, uint32_t edge)
{
	finding->steps[finding->step_count++] = (struct thrum__step){
		.kind = (uint8_t)kind,
		.task = task,
		.other = other,
		.time = time,
		.edge = edge,
	};
}

/* What the last of the chain hangs on: steps of the cause. */
static void add_cause(const struct thrum__model *model, struct thrum__finding *finding,
	uint32_t waiter, uint32_t wait, uint32_t stuck)
{
	/* A condition is waited for itself, or (mirage-profile) by a task that it creates. */
	uint32_t condition = is_condition(model, stuck) ? stuck
							: THRUM__TASK(model, stuck, creator);
	bool is_itself = condition == stuck;
	int64_t since = is_itself ? THRUM__EDGE(model, wait, time)
				  : THRUM__TASK(model, stuck, created);
	uint32_t signal = is_condition(model, condition) ? lost_signal(model, condition, since)
							 : THRUM__NONE;

	if (signal == THRUM__NONE) {
		add_step(finding, THRUM__STEP_WAITS_FOR, waiter, stuck,
			THRUM__EDGE(model, wait, time), wait);
		return;
	}
	finding->class = THRUM__FINDING_LOST_WAKE_UP;
	finding->certainty = THRUM__CERTAIN;
	add_step(finding, THRUM__STEP_SIGNAL_LOST, condition, THRUM__EDGE(model, signal, from),
		THRUM__EDGE(model, signal, time), signal);
	add_step(finding, THRUM__STEP_WAITS_LATE, is_itself ? waiter : stuck, condition, since,
		wait);
}

static void mark_chain(const struct thrum__model *model, struct thrum__findings *findings,
	uint32_t task, int mark)
{
	while (thrum__has_row(&model->tasks, task) && findings->mark[task] < mark) {
		findings->mark[task] = (uint8_t)mark;
		task = THRUM__TASK(model, task, became);
	}
}

/* Follows what the victim waits for to its end. */
static void follow(const struct thrum__model *model, struct thrum__findings *findings,
	uint32_t victim, struct thrum__finding *finding)
{
	uint32_t at = thrum__model_heir(model, victim), wait = THRUM__NONE, waiter = at, edge;
	bool is_unsure = THRUM__TASK(model, victim, flags) & THRUM__TASK_UNSURE;

	*finding = (struct thrum__finding){
		.class = THRUM__FINDING_NEVER_RESOLVED,
		.certainty = THRUM__LIKELY,
	};
	mark_chain(model, findings, victim, THRUM__MARK_STUCK);
	while ((edge = last_wait(model, at)) != THRUM__NONE) {
		uint32_t awaited = THRUM__EDGE(model, edge, to);
		uint32_t heir = thrum__model_heir(model, awaited);

		wait = edge;
		waiter = at;
		is_unsure |= THRUM__TASK(model, heir, flags) & THRUM__TASK_UNSURE;
		if (findings->mark[heir] != THRUM__MARK_NONE) {
			at = heir; /* a cycle, or the rest is another's finding */
			break;
		}
		mark_chain(model, findings, awaited, THRUM__MARK_BEHIND);
		at = heir;
	}
	if (wait != THRUM__NONE)
		add_cause(model, finding, waiter, wait, at);
	add_step(finding, THRUM__STEP_NEVER_RESOLVED, victim, THRUM__NONE,
		wait == THRUM__NONE ? THRUM__TASK(model, victim, last)
				    : THRUM__EDGE(model, wait, time),
		wait);
	if (is_unsure)
		finding->certainty = THRUM__POSSIBLE;
}

static int compare(const void *a, const void *b)
{
	const struct thrum__finding *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->certainty != y->certainty)
		return x->certainty > y->certainty ? -1 : 1;
	if (x->step_count != y->step_count)
		return x->step_count > y->step_count ? -1 : 1; /* explains more */
	return x->steps[0].time < y->steps[0].time ? -1 : x->steps[0].time > y->steps[0].time;
}

int thrum__findings_make(const struct thrum__model *model, struct thrum__findings *findings)
{
	struct thrum__findings made = {.mark_count = model->tasks.count};

	made.mark = calloc((size_t)made.mark_count + 1, 1);
	made.findings = calloc(FINDINGS_MAX, sizeof *made.findings);
	if (!made.mark || !made.findings) {
		thrum__findings_free(&made);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t task = model->tasks.first; task < model->tasks.count; task++) {
		if (!thrum__has_row(&model->tasks, task) || !thrum__model_is_stuck(model, task))
			continue;
		if (made.mark[task] == THRUM__MARK_STUCK)
			continue; /* a chain's later task: told already */
		if (made.count < FINDINGS_MAX)
			follow(model, &made, task, &made.findings[made.count++]);
		else
			mark_chain(model, &made, task, THRUM__MARK_STUCK);
	}
	qsort(made.findings, made.count, sizeof *made.findings, compare); /* few */
	*findings = made;
	return 0;
}

void thrum__findings_free(struct thrum__findings *findings)
{
	free(findings->findings);
	free(findings->mark);
	*findings = (struct thrum__findings){0};
}
