/* SPDX-License-Identifier: ISC */
/*
 * Tells of a thread that looks in vain, if nothing else was found: it is woken again and again by those that
 * signal a condition, and each time waits for it once more. It may need all of them, as one that waits until
 * each reader has moved on. All threads made where they were signal it all the time, but for one, which has
 * waited since then for a condition that nobody has signalled but the one that looks.
 */
#include <string.h>

#include "analyse/why/blame/blame.h"

#define LONG 1000000000 /* ns; who looked for less may yet see what it looks for */
#define VAIN_MIN 20     /* so many times it looked, and so often each of the others signalled */
#define OTHERS_MIN 2    /* so many others show that each should */
#define LOOK_BACK 65536 /* edges of a task that are searched, from the latest back */

struct vain {
	const struct thrum__search *search;
	uint32_t task, on; /* who looks, and the condition for which it waits */
	uint32_t edge;     /* by which the first of these waits began */
	int64_t since;     /* when that was */
	uint32_t looks;
	uint32_t like; /* one that signals the condition */
	uint32_t missing;
};

/* Finds since when the task has waited for the condition again and again. Each time it has just the lock that
 * goes with the condition: a thread that takes a lock once more has done something in between. */
static void find_looks(struct vain *vain)
{
	const struct thrum__model *model = vain->search->model;
	uint32_t edge = THRUM__TASK(model, vain->task, edge_out), locks = 0;

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (thrum__model_has_row(&model->tasks, to) &&
			THRUM__TASK(model, to, kind) == THRUM_KIND_LOCK) {
			locks += kind == THRUM__EDGE_LOCK;
			continue;
		}
		if (to != vain->on || locks > 1)
			return;
		if (kind != THRUM__EDGE_WAIT)
			continue;
		locks = 0;
		vain->looks++;
		vain->edge = edge;
		vain->since = THRUM__EDGE(model, edge, time);
	}
}

/* How often a task has signalled a condition since a time: at most so often as is asked for. */
static uint32_t count_signals(const struct thrum__model *model, uint32_t task, uint32_t condition,
	int64_t since)
{
	uint32_t count = 0;

	THRUM__ACTS_OF (model, task, edge, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		if (THRUM__EDGE(model, edge, time) < since || count == VAIN_MIN)
			break;
		count += THRUM__EDGE(model, edge, to) == condition;
	}
	return count;
}

/* Whether two threads were made at the same place. A compiler may make two calls of one in the source. */
static bool are_made_there(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	const struct thrum_trace_site *of_a, *of_b;

	if (THRUM__TASK(model, a, kind) != THRUM_KIND_THREAD ||
		THRUM__TASK(model, b, kind) != THRUM_KIND_THREAD ||
		THRUM__TASK(model, a, site) == 0)
		return false;
	if (THRUM__TASK(model, a, site) == THRUM__TASK(model, b, site))
		return true;
	of_a = thrum__model_site(model, a);
	of_b = thrum__model_site(model, b);
	return of_a && of_b && of_a->line > 0 && of_a->line == of_b->line &&
		strcmp(of_a->function, of_b->function) == 0 && strcmp(of_a->file, of_b->file) == 0;
}

/* Whether all signals of a condition since a time came from those that were made where one was. Sets *like to
 * the latest of them. */
static bool find_like(const struct vain *vain, uint32_t *like)
{
	const struct thrum__model *model = vain->search->model;

	*like = THRUM__NONE;
	THRUM__ACTS_ON (model, vain->on, edge, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		uint32_t from = thrum__why_actor(model, edge);

		if (THRUM__EDGE(model, edge, time) < vain->since)
			break;
		if (from == THRUM__NONE || from == vain->task ||
			(*like != THRUM__NONE && from != *like &&
				!are_made_there(model, *like, from)))
			return false;
		*like = *like == THRUM__NONE ? from : *like;
	}
	return *like != THRUM__NONE;
}

/* Whether only the one that looks has ever signalled a condition, if anybody has. */
static bool is_served_by(const struct thrum__model *model, uint32_t condition, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, condition, edge_in);

	THRUM__EDGES_OF (model, edge, prev_in, LOOK_BACK, THRUM__EDGE_SIGNAL)
		if (THRUM__EDGE(model, edge, from) != task)
			return false;
	return edge == THRUM__NONE;
}

/* Whether a thread has waited, for long, for a condition that only the one that looks could signal. */
static bool is_kept(const struct vain *vain, uint32_t thread)
{
	const struct thrum__model *model = vain->search->model;
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(vain->search, thread);

	return wait && wait->on != vain->on && thrum__why_is_condition(model, wait->on) &&
		model->end - wait->since >= LONG && thrum__why_is_blocked(model, thread, wait) &&
		is_served_by(model, wait->on, vain->task);
}

/* Finds the only thread, of those made where the signallers were, that has not signalled since. All others
 * have done so again and again. */
static bool find_missing(struct vain *vain)
{
	const struct thrum__model *model = vain->search->model;
	unsigned others = 0;

	vain->missing = THRUM__NONE;
	THRUM__EACH_TASK (model, task) {
		uint32_t signals;

		if (!thrum__analyse_task_is_pending(model, task) ||
			!are_made_there(model, vain->like, task))
			continue;
		signals = count_signals(model, task, vain->on, vain->since);
		if (signals >= VAIN_MIN)
			others++;
		else if (signals == 0 && vain->missing == THRUM__NONE)
			vain->missing = task;
		else
			return false;
	}
	return others >= OTHERS_MIN && vain->missing != THRUM__NONE &&
		vain->missing != vain->task && is_kept(vain, vain->missing);
}

static bool looks_in_vain(struct vain *vain)
{
	const struct thrum__model *model = vain->search->model;
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(vain->search, vain->task);

	if (!wait || !thrum__why_is_condition(model, wait->on) ||
		!(THRUM__TASK(model, vain->task, flags) & THRUM__TASK_SHOULD_RESOLVE))
		return false;
	vain->on = wait->on;
	find_looks(vain);
	return vain->looks >= VAIN_MIN && model->end - vain->since >= LONG &&
		find_like(vain, &vain->like) && find_missing(vain);
}

static void tell(const struct vain *vain)
{
	const struct thrum__model *model = vain->search->model;
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(vain->search, vain->missing);
	struct thrum__findings *findings = vain->search->findings;
	struct thrum__finding *finding = findings->findings;

	*finding = (struct thrum__finding){
		.class = THRUM__FINDING_NEVER_RESOLVED,
		.certainty = THRUM__POSSIBLE,
		.task = vain->task,
		.until = model->end,
	};
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, vain->missing, wait->on, wait->since,
		wait->edge);
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_MISSES_ROUND, vain->missing,
				    vain->on, vain->since, THRUM__NONE),
		1);
	thrum__why_add_at(finding, model, THRUM__STEP_WAITS_FOR, vain->task, vain->on, vain->edge);
	thrum__why_add_step(finding, THRUM__STEP_NEVER_RESOLVED, vain->task, THRUM__NONE,
		THRUM__TASK(model, vain->task, created), THRUM__NONE);
	findings->count = 1;
}

void thrum__why_add_in_vain(const struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	if (search->findings->count > 0 || model->ending != THRUM_ENDING_KILLED ||
		thrum__why_is_polite(model) || search->gap >= 0 || model->is_cut ||
		model->is_joined || model->damaged > 0)
		return;
	THRUM__EACH_LANE (model, lane) {
		struct vain vain = {.search = search, .task = thrum__why_task_of_lane(lane)};

		if (thrum__analyse_task_is_pending(model, vain.task) && looks_in_vain(&vain)) {
			tell(&vain);
			return;
		}
	}
}
