/* SPDX-License-Identifier: ISC */
/*
 * Tells who left out a signal, where little else is known. A run of a callback: its like gave one in each
 * run, and somebody has waited for the condition since before that run. Or a thread that ended on a short
 * way: all others like it took the condition's lock where such conditions are signalled.
 */
#include "analyse/graph.h"
#include "analyse/why/blame/blame.h"
#include "analyse/why/unusual/unusual.h"

#include <string.h>

#define ASKED_MOST 2    /* findings for which the search is made */
#define RUNS_MIN 4      /* so many runs with a signal show that each should give one */
#define LOCKS_BACK 8192 /* edges of a lock or a thread that are searched, from the latest back */
#define HELD_BACK 64    /* the same, of a task while it has a lock */
#define SIGNALS_MIN 3   /* so many signals from a place show that they come from there, */
#define PLACES_MAX 4
#define USUAL_MIN 4 /* and so many threads that came there that each should */
#define EARLY_MIN 2 /* the same where all of them ended after they had come to one place */

/* ---- A run ---------------------------------------------------------------------------------- */

/* Whether a finding tells no more than who waits for whom. */
static bool is_bare(const struct thrum__finding *finding)
{
	for (unsigned i = 0; i < finding->step_count; i++)
		switch (finding->steps[i].kind) {
		case THRUM__STEP_WAITS_FOR:
		case THRUM__STEP_WAITS_IN_CYCLE:
		case THRUM__STEP_SERVES:
		case THRUM__STEP_SILENT:
		case THRUM__STEP_BEHIND:
		case THRUM__STEP_NEVER_RESOLVED: break;
		default: return false;
		}
	return finding->step_count < THRUM__STEPS_MAX;
}

/* Whether a step is a wait for a condition. */
static bool is_for_condition(const struct thrum__model *model, const struct thrum__step *step)
{
	return (step->kind == THRUM__STEP_WAITS_FOR || step->kind == THRUM__STEP_WAITS_IN_CYCLE) &&
		thrum__why_is_condition(model, step->other);
}

/* Whether a run hasn't ended, but is held up by a wait that the finding tells and that is new to its task. */
static bool is_held_up(const struct thrum__model *model, const struct thrum__finding *finding,
	const struct thrum__odd *odd)
{
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		if (is_for_condition(model, step) && step->task == odd->task[0] &&
			step->time >= odd->time[0] &&
			thrum__why_waits_on(model, step->task, step->other) == 1)
			return true;
	}
	return false;
}

/* Looks for the run that should have ended the wait of a step. */
static bool find(struct thrum__odd_search *search, const struct thrum__step *step,
	struct thrum__odd *odd)
{
	return thrum__analyse_odd(search, step->other, THRUM__OPEN, odd, 1) == 1 &&
		odd->effect == THRUM__EFFECT_SIGNALS && odd->count == 1 && odd->with >= RUNS_MIN &&
		odd->time[0] >= step->time && odd->task[0] != step->task;
}

/* Adds a step at an index. */
static void add_step(struct thrum__finding *finding, unsigned at, const struct thrum__odd *odd)
{
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_LEAVES_OUT, odd->task[0],
				    odd->on, odd->time[0], THRUM__NONE),
		odd->with);
	thrum__why_move_last(finding, at);
}

/* ---- A short way ---------------------------------------------------------------------------- */

/* The places where a lock is taken by those that signal conditions like one. */
struct source {
	uint32_t lock, condition;
	int places[PLACES_MAX];
	unsigned count;
	uint32_t signals;
	uint32_t sample; /* a task that signalled, having taken the lock there */
};

/* How many threads that were begun where a sample was came to such a place and ended, and how many ended
 * otherwise. */
struct ways {
	uint32_t usual, short_ones, task; /* task: the latest that ended otherwise */
	uint32_t edge;                    /* by which that took the lock last */
};

/* Whether a task signalled a condition like this one between two edges: it took a lock and released it. */
static bool has_signalled(const struct thrum__model *model, uint32_t condition, uint32_t lock,
	uint32_t unlock)
{
	THRUM__EDGES_BACK (model, unlock, prev_out, HELD_BACK) {
		if (unlock == lock)
			return false;
		if (THRUM__EDGE(model, unlock, kind) == THRUM__EDGE_SIGNAL &&
			thrum__why_are_named_alike(model, condition,
				THRUM__EDGE(model, unlock, to)))
			return true;
	}
	return false;
}

/* Whether it is at one of the places that a lock was taken, by an edge. */
static bool is_there(const struct thrum__model *model, const struct source *source, uint32_t lock)
{
	int place = thrum__model_edge_place(model, lock);

	for (unsigned i = 0; i < source->count; i++)
		if (source->places[i] == place)
			return true;
	return false;
}

/* Notes that a task signalled, having taken a lock. Returns false if its place isn't known, or there are too
 * many. */
static bool note_signal(const struct thrum__model *model, struct source *source, uint32_t lock)
{
	source->signals++;
	source->sample = THRUM__EDGE(model, lock, from);
	if (is_there(model, source, lock))
		return true;
	if (thrum__model_edge_place(model, lock) <= 0 || source->count == PLACES_MAX)
		return false;
	source->places[source->count++] = thrum__model_edge_place(model, lock);
	return true;
}

/* Finds the places from where such conditions are signalled. */
static bool find_source(const struct thrum__model *model, struct source *source)
{
	uint32_t edge = THRUM__TASK(model, source->lock, edge_in), unlock = THRUM__NONE;

	THRUM__EDGES_BACK (model, edge, prev_in, LOCKS_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_UNLOCK)
			unlock = edge;
		if (kind != THRUM__EDGE_LOCK || unlock == THRUM__NONE ||
			THRUM__EDGE(model, unlock, from) != THRUM__EDGE(model, edge, from))
			continue;
		if (has_signalled(model, source->condition, edge, unlock) &&
			!note_signal(model, source, edge))
			return false;
		unlock = THRUM__NONE;
	}
	return edge == THRUM__NONE && source->signals >= SIGNALS_MIN;
}

/* Counts a thread by whether it took the lock at one of the places. */
static void count_way(const struct thrum__model *model, const struct source *source, uint32_t task,
	struct ways *ways)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out), last = THRUM__NONE;

	THRUM__EDGES_BACK (model, edge, prev_out, LOCKS_BACK) {
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK ||
			THRUM__EDGE(model, edge, to) != source->lock)
			continue;
		if (is_there(model, source, edge)) {
			ways->usual++;
			return;
		}
		last = last == THRUM__NONE ? edge : last;
	}
	ways->short_ones++;
	ways->task = task;
	ways->edge = last;
}

/* Looks at all threads that were begun where the one was that signalled. */
static struct ways look_at_ways(const struct thrum__model *model, const struct source *source)
{
	struct ways ways = {0, 0, THRUM__NONE, THRUM__NONE};
	uint32_t like = source->sample;

	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
			THRUM__TASK(model, task, creator) == THRUM__TASK(model, like, creator) &&
			THRUM__TASK(model, task, site) == THRUM__TASK(model, like, site) &&
			!thrum__analyse_task_is_pending(model, task))
			count_way(model, source, task, &ways);
	return ways;
}

/* The wait for a condition of which a finding tells only who took its lock; else NULL. */
static const struct thrum__step *guessed_wait(const struct thrum__finding *finding)
{
	const struct thrum__step *last = &finding->steps[finding->step_count - 1];

	for (unsigned i = 0; i + 1 < finding->step_count; i++)
		if (finding->steps[i].kind != THRUM__STEP_TAKES_LOCK ||
			finding->steps[i].more > 0 || finding->steps[i].other != last->other)
			return NULL;
	return finding->step_count > 1 && last->kind == THRUM__STEP_WAITS_FOR ? last : NULL;
}

/* Makes a step of the only thread that ended on another way than at least so many. */
static bool tell_way(const struct thrum__model *model, const struct source *source, uint32_t least,
	int kind, struct thrum__step *step)
{
	struct ways ways = look_at_ways(model, source);

	if (ways.short_ones != 1 || ways.usual < least || ways.edge == THRUM__NONE)
		return false;
	*step = (struct thrum__step){.kind = (uint8_t)kind,
		.task = ways.task,
		.other = source->condition,
		.time = THRUM__TASK(model, ways.task, end),
		.edge = ways.edge,
		.more = ways.usual};
	return true;
}

/* Finds the only thread that ended on a short way since a wait began. */
static bool find_short_way(const struct thrum__model *model, uint32_t lock,
	const struct thrum__step *wait, struct thrum__step *step)
{
	struct source source = {.condition = wait->other, .lock = lock};
	struct thrum__step found;

	if (!find_source(model, &source) || !thrum__model_has_row(&model->tasks, source.sample) ||
		!tell_way(model, &source, USUAL_MIN, THRUM__STEP_SHORT_WAY, &found) ||
		found.time <= wait->time)
		return false;
	*step = found;
	return true;
}

/* The same where nobody ever signalled such a condition: those that took the lock did so in one place. */
static bool find_early_end(const struct thrum__model *model, uint32_t lock,
	const struct thrum__finding *finding, struct thrum__step *step)
{
	uint32_t first = finding->steps[0].edge;
	struct source source = {.condition = finding->steps[0].other, .lock = lock};

	for (unsigned i = 0; i + 1 < finding->step_count; i++)
		if (!thrum__model_has_row(&model->edges, finding->steps[i].edge) ||
			thrum__analyse_task_is_pending(model, finding->steps[i].task) ||
			thrum__model_edge_place(model, finding->steps[i].edge) !=
				thrum__model_edge_place(model, first))
			return false;
	return note_signal(model, &source, first) &&
		tell_way(model, &source, EARLY_MIN, THRUM__STEP_SHORT_TURN, step);
}

/* Names the thread that left early, in the place of all that took the lock. Returns whether there is one. */
static bool try_short_way(const struct thrum__model *model, struct thrum__finding *finding)
{
	const struct thrum__step *wait = guessed_wait(finding);
	uint32_t lock = wait ? thrum__why_lock_of_condition(model, wait->other) : THRUM__NONE;
	struct thrum__step step = {.other = wait ? wait->other : THRUM__NONE};

	if (lock == THRUM__NONE ||
		(!find_short_way(model, lock, wait, &step) &&
			!thrum__why_find_short_turn(model, lock, wait->time, &step) &&
			!find_early_end(model, lock, finding, &step)))
		return false;
	finding->steps[1] = *wait;
	finding->steps[0] = step;
	finding->step_count = 2;
	return true;
}

/* Whether a finding tells only that others wait for the one whose wait another finding explains. */
static bool is_behind(const struct thrum__finding *finding, const struct thrum__finding *explained)
{
	const struct thrum__step *wait = &explained->steps[explained->step_count - 1];
	bool may_signal = false, waits = false;

	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		may_signal |= step->kind == THRUM__STEP_MAY_SIGNAL && step->task == wait->task;
		waits |= step->kind == THRUM__STEP_WAITS_FOR && step->task == wait->task &&
			step->other == wait->other;
	}
	return may_signal && waits && finding->certainty == explained->certainty;
}

/* Takes the findings that are behind this one into it. Returns its index. */
static uint32_t take_those_behind(struct thrum__findings *findings, uint32_t at)
{
	for (uint32_t i = 0; i < findings->count;) {
		if (i == at || !is_behind(&findings->findings[i], &findings->findings[at])) {
			i++;
			continue;
		}
		findings->findings[at].behind += 1 + findings->findings[i].behind;
		findings->count--;
		memmove(&findings->findings[i], &findings->findings[i + 1],
			(findings->count - i) * sizeof *findings->findings);
		at -= i < at;
	}
	return at;
}

/* ---- Two that wait for each other's messages ------------------------------------------------- */

/* Where two threads wait for each other, names the one that left out an answer in a turn. Returns whether
 * there is one. */
static bool try_talk(const struct thrum__model *model, struct thrum__finding *finding)
{
	for (unsigned i = 0; i + 1 < finding->step_count; i++) {
		const struct thrum__step *wait = &finding->steps[i];
		struct thrum__step step = {.other = wait->other, .edge = THRUM__NONE};

		if (wait->kind != THRUM__STEP_WAITS_IN_CYCLE ||
			wait[1].kind != THRUM__STEP_SERVES || wait[1].other != wait->other ||
			!THRUM__BEGINS_WITH(model, wait->other, "socket ") ||
			!thrum__why_is_left_out(model, wait->task, wait[1].task, &step))
			continue;
		finding->class = THRUM__FINDING_NEVER_RESOLVED;
		finding->task = wait->task;
		finding->steps[1] = *wait;
		finding->steps[1].kind = THRUM__STEP_WAITS_FOR;
		finding->steps[0] = step;
		finding->step_count = 2;
		return true;
	}
	return false;
}

/* ---- The answer ------------------------------------------------------------------------------ */

void thrum__why_add_left_out(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	unsigned asked = 0;

	for (uint32_t i = 0; i < findings->count; i++) {
		struct thrum__finding *finding;
		struct thrum__odd odd;

		if (try_short_way(search->model, &findings->findings[i]))
			i = take_those_behind(findings, i);
		finding = &findings->findings[i];
		if (thrum__why_add_unanswered(search->model, finding) ||
			try_talk(search->model, finding))
			continue;
		for (unsigned at = 0; is_bare(finding) && at < finding->step_count; at++)
			if (is_for_condition(search->model, &finding->steps[at]) &&
				asked++ < ASKED_MOST && find(search, &finding->steps[at], &odd) &&
				!is_held_up(search->model, finding, &odd))
				add_step(finding, at + 1, &odd);
	}
}
