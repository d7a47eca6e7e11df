/* SPDX-License-Identifier: ISC */
/*
 * Tells which run left out a signal. Its like gave one in each run, and somebody has waited for the condition
 * since before that run. Only for findings that nothing else explains. The page doesn't ask for this: it has no
 * room for the search.
 */
#include "analyse/graph.h"
#include "analyse/odd.h"
#include "analyse/why/finding.h"

#include <string.h>

#define ASKED_MOST 4 /* findings for which the search is made */
#define RUNS_MIN 4   /* so many runs with a signal show that each should give one */

/* Whether a finding tells no more than that tasks wait, the first one for a condition. */
static bool is_bare(const struct thrum__model *model, const struct thrum__finding *finding)
{
	const struct thrum__step *first = &finding->steps[0];

	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].kind != THRUM__STEP_WAITS_FOR &&
			finding->steps[i].kind != THRUM__STEP_BEHIND &&
			finding->steps[i].kind != THRUM__STEP_NEVER_RESOLVED)
			return false;
	return finding->step_count < THRUM__STEPS_MAX && first->kind == THRUM__STEP_WAITS_FOR &&
		thrum__model_has_row(&model->tasks, first->other) &&
		THRUM__TASK(model, first->other, kind) == THRUM_KIND_CONDITION;
}

static void add_step(struct thrum__finding *finding, const struct thrum__odd *odd)
{
	memmove(&finding->steps[2], &finding->steps[1],
		(finding->step_count - 1u) * sizeof *finding->steps);
	finding->steps[1] = (struct thrum__step){.kind = THRUM__STEP_LEAVES_OUT,
		.task = odd->task[0],
		.other = odd->on,
		.time = odd->time[0],
		.edge = THRUM__NONE,
		.more = odd->with};
	finding->step_count++;
}

void thrum__why_add_left_out(const struct thrum__model *model, struct thrum__findings *findings)
{
	unsigned asked = 0;

	for (uint32_t i = 0; i < findings->count && asked < ASKED_MOST; i++) {
		struct thrum__finding *finding = &findings->findings[i];
		struct thrum__odd odd;

		if (!is_bare(model, finding))
			continue;
		asked++;
		if (thrum__analyse_odd(model, finding->steps[0].other, THRUM__OPEN, &odd, 1) == 1 &&
			odd.effect == THRUM__EFFECT_SIGNALS && odd.count == 1 &&
			odd.with >= RUNS_MIN && odd.time[0] >= finding->steps[0].time &&
			odd.task[0] != finding->steps[0].task)
			add_step(finding, &odd);
	}
}
