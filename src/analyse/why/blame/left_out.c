/* SPDX-License-Identifier: ISC */
/*
 * Tells which run left out a signal. Its like gave one in each run, and somebody has waited for the condition
 * since before that run. Only for findings that nothing else explains. The page doesn't ask for this: it
 * has no room for the search.
 */
#include "analyse/graph.h"
#include "analyse/why/finding.h"

#include <string.h>

#define ASKED_MOST 2 /* findings for which the search is made */
#define RUNS_MIN 4   /* so many runs with a signal show that each should give one */

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
		thrum__model_has_row(&model->tasks, step->other) &&
		THRUM__TASK(model, step->other, kind) == THRUM_KIND_CONDITION;
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
	memmove(&finding->steps[at + 1], &finding->steps[at],
		(finding->step_count - at) * sizeof *finding->steps);
	finding->steps[at] = (struct thrum__step){.kind = THRUM__STEP_LEAVES_OUT,
		.task = odd->task[0],
		.other = odd->on,
		.time = odd->time[0],
		.edge = THRUM__NONE,
		.more = odd->with};
	finding->step_count++;
}

void thrum__why_add_left_out(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	unsigned asked = 0;

	for (uint32_t i = 0; i < findings->count; i++) {
		struct thrum__finding *finding = &findings->findings[i];
		struct thrum__odd odd;

		for (unsigned at = 0; is_bare(finding) && at < finding->step_count; at++)
			if (is_for_condition(search->model, &finding->steps[at]) &&
				asked++ < ASKED_MOST && find(search, &finding->steps[at], &odd))
				add_step(finding, at + 1, &odd);
	}
}
