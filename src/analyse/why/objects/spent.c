/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that wait for a condition whose only signal is spent: it woke one of several that waited, and
 * the others wait on. The condition is one of many that are signalled once each, as each stands for something
 * that comes once: so nobody signals this one again. A worker's condition is signalled for each job.
 */
#include "analyse/why/objects/objects.h"

#define AGE_MIN 1000000000 /* ns since the signal; so long after it the next one may come */
#define LOOK_BACK 1024     /* edges of a task that are searched */
#define ALIKE_MIN 3        /* conditions that were signalled once, for all who waited */
#define TIMES \
	10 /* so many times as long as others waited before their signal, these wait since it */

/* The events of a condition. */
struct events {
	uint32_t signal; /* the only one; NONE: there is none, or another one */
	uint32_t waits, reads;
	int64_t since; /* the first wait */
};

static struct events events_of(const struct thrum__model *model, uint32_t condition)
{
	struct events events = {.signal = THRUM__NONE, .since = THRUM__OPEN};
	uint32_t edge = THRUM__TASK(model, condition, edge_in), signals = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_SIGNAL) {
			events.signal = edge;
			signals++;
		} else if (kind == THRUM__EDGE_WAIT) {
			events.since = THRUM__EDGE(model, edge, time);
			events.waits++;
		} else {
			events.reads += kind == THRUM__EDGE_READ;
		}
	}
	if (signals != 1)
		events.signal = THRUM__NONE;
	return events;
}

/* Whether each condition like this one that the same task signalled was signalled once, and nobody waits
 * there any more; and none of those who waited there did so for nearly as long as they wait here. */
static bool comes_once(const struct thrum__search *search, uint32_t condition, uint32_t signal)
{
	const struct thrum__model *model = search->model;
	uint32_t from = THRUM__EDGE(model, signal, from), alike = 0;
	int64_t age = model->end - THRUM__EDGE(model, signal, time);
	uint32_t edge = THRUM__TASK(model, from, edge_out);

	THRUM__EDGES_OF (model, edge, prev_out, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		uint32_t other = THRUM__EDGE(model, edge, to);
		struct events events;

		if (other == condition || !thrum__model_has_row(&model->tasks, other) ||
			!thrum__why_is_alike(search, other, condition))
			continue;
		events = events_of(model, other);
		if (events.signal == THRUM__NONE || events.waits > events.reads ||
			(events.waits > 0 &&
				(THRUM__EDGE(model, events.signal, time) - events.since) >=
					age / TIMES))
			return false;
		alike += events.waits > 0;
	}
	return alike >= ALIKE_MIN;
}

/* The signal of a condition that is spent, though a task waits for it since before; or NONE. */
static uint32_t spent_signal(const struct thrum__search *search,
	const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	struct events events;

	if (THRUM__TASK(model, wait->on, kind) != THRUM_KIND_CONDITION ||
		search->gap > THRUM__TASK(model, wait->on, created))
		return THRUM__NONE;
	events = events_of(model, wait->on);
	return events.signal != THRUM__NONE && events.reads == 1 &&
			thrum__model_waiters(model, events.signal) > 1 &&
			THRUM__EDGE(model, events.signal, time) > wait->since &&
			model->end - THRUM__EDGE(model, events.signal, time) >= AGE_MIN &&
			thrum__model_has_row(&model->tasks,
				THRUM__EDGE(model, events.signal, from)) &&
			comes_once(search, wait->on, events.signal)
		? events.signal
		: THRUM__NONE;
}

/* The finding that tells of a condition already, or NULL. */
static struct thrum__finding *told_of(struct thrum__findings *findings, uint32_t condition)
{
	for (uint32_t i = 0; i < findings->count; i++)
		if (findings->findings[i].steps[0].kind == THRUM__STEP_WAKES_ONE &&
			findings->findings[i].steps[0].other == condition)
			return &findings->findings[i];
	return NULL;
}

static void tell(struct thrum__search *search, uint32_t task,
	const struct thrum__analyse_wait *wait, uint32_t signal)
{
	const struct thrum__model *model = search->model;
	struct thrum__finding *finding = told_of(search->findings, wait->on);

	if (finding) {
		finding->behind++;
	} else {
		finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
			thrum__why_certainty(search, THRUM__POSSIBLE, wait->since), task);
		if (!finding)
			return;
		thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_WAKES_ONE,
					    THRUM__EDGE(model, signal, from), wait->on, signal),
			(uint32_t)thrum__model_waiters(model, signal));
		thrum__why_add_at(finding, model, THRUM__STEP_WAITS_FOR, task, wait->on,
			wait->edge);
	}
	*thrum__cause(search, task) = (uint32_t)(finding - search->findings->findings);
}

int thrum__why_find_spent(struct thrum__search *search)
{
	THRUM__WHY_EACH (search, task, THRUM__SORT_ACTED) {
		struct thrum__analyse_waits waits;
		uint32_t signal;

		if (*thrum__cause(search, task) < search->findings->count ||
			!thrum__analyse_task_is_pending(search->model, task))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, task);
		signal = waits.count == 1 ? spent_signal(search, &waits.waits[0]) : THRUM__NONE;
		if (signal != THRUM__NONE)
			tell(search, task, &waits.waits[0], signal);
	}
	return 0;
}
