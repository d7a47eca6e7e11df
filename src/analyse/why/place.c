/* SPDX-License-Identifier: ISC */
/* Finds the place in the program that a step is about. */
#include "analyse/why/finding.h"

#define LOOK_BACK 100000 /* edges that are searched, from the latest back */

/* The latest signal for a task whose place is known, of this signaller or, if that is NONE, of anybody; or
 * NONE. */
static uint32_t signal_for(const struct thrum__model *model, uint32_t on, uint32_t signaller)
{
	uint32_t edge = THRUM__TASK(model, on, edge_in);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_in))
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			(signaller == THRUM__NONE || THRUM__EDGE(model, edge, from) == signaller) &&
			thrum__model_edge_site(model, edge))
			return edge;
	return THRUM__NONE;
}

uint32_t thrum__why_usual_signal(const struct thrum__model *model, uint32_t task, uint32_t on)
{
	uint32_t edge;

	if (!thrum__model_has_row(&model->tasks, on))
		return THRUM__NONE;
	edge = signal_for(model, on, task);
	return edge == THRUM__NONE ? signal_for(model, on, THRUM__NONE) : edge;
}

uint32_t thrum__why_place(const struct thrum__model *model, const struct thrum__step *step)
{
	if (thrum__model_edge_site(model, step->edge))
		return step->edge;
	switch (step->kind) {
	case THRUM__STEP_SILENT:
	case THRUM__STEP_SKIPS:
	case THRUM__STEP_LEAVES_OUT:
	case THRUM__STEP_MISSES_ROUND:
	case THRUM__STEP_ENDS_UNSERVED:
	case THRUM__STEP_SERVER_ENDED:
		return thrum__why_usual_signal(model, step->task, step->other);
	default: return THRUM__NONE;
	}
}
