/* SPDX-License-Identifier: ISC */
/* Finds signals of conditions that nobody heard. */
#include <string.h>

#include "analyse/why/parts.h"

#define LOOK_BACK 1024 /* edges of a condition before a signal that are searched */
#define UNHEARD 4      /* so many signals that nobody heard show that such do no harm */

/* Whether a condition resolved or created a task at a time in from … to - 1. The search goes back
 * from *edge, an edge of the condition, and moves *edge with it: so a caller that asks about the
 * latest signal first, then about earlier ones, visits each edge once. */
static bool has_acted(const struct thrum__model *model, uint32_t condition, uint32_t *edge,
	int64_t from, int64_t to)
{
	uint32_t task = thrum__analyse_task_from(model, from);

	for (; thrum__model_has_row(&model->edges, *edge) &&
		THRUM__EDGE(model, *edge, time) >= from;
		*edge = THRUM__EDGE(model, *edge, prev_out)) {
		if (THRUM__EDGE(model, *edge, time) < to &&
			THRUM__EDGE(model, *edge, kind) == THRUM__EDGE_RESOLVE)
			return true;
	}
	for (; thrum__model_has_row(&model->tasks, task) && THRUM__TASK(model, task, created) < to;
		task++) {
		if (THRUM__TASK(model, task, creator) == condition)
			return true;
	}
	return false;
}

/* Returns how a condition's signals before an edge went: whether one was heard, and whether one was
 * not and did no harm, as a later wait ended, or as nobody ever waited after several of them. The later waits
 * are those before the edge. */
static void look_before(const struct thrum__model *model, uint32_t edge, bool *is_heard,
	bool *is_harmless)
{
	unsigned unheard = 0;

	*is_heard = *is_harmless = false;
	edge = THRUM__EDGE(model, edge, prev_in);
	THRUM__EDGES_OF (model, edge, prev_in, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		if (thrum__model_waiters(model, edge) != 0)
			*is_heard = true;
		else
			*is_harmless = *is_heard || ++unheard >= UNHEARD;
		if (*is_harmless)
			return;
	}
}

bool thrum__why_is_only_signal(const struct thrum__model *model, uint32_t signal)
{
	bool is_heard, is_harmless;

	if (model->is_mirage)
		return true;
	look_before(model, signal, &is_heard, &is_harmless);
	return !is_heard && !is_harmless;
}

/* Whether the program keeps in its own state what a signal tells, so that those that nobody hears
 * do no harm: earlier ones did none. */
static bool is_usual(const struct thrum__model *model, uint32_t signal)
{
	bool is_heard, is_harmless;

	look_before(model, signal, &is_heard, &is_harmless);
	return is_harmless;
}

/* Whether a task waits, as others do, for an eventfd out of which one read took several, as the adapters'
 * name for it says. Then another task may have taken work and left it undone. */
static bool lacks_work(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	if (!thrum__model_has_row(&model->edges, edge) ||
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
		!strstr(thrum__model_task_name(model, THRUM__EDGE(model, edge, to), NULL),
			" taken at once)"))
		return false;
	while (thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, from) == task)
		edge = THRUM__EDGE(model, edge, prev_in);
	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT;
}

/* Whether a task had a look at what a signal told before it began to wait: since the signal it took the lock
 * of its wait at the same place and went on, or it signalled another condition with that lock. */
static bool has_passed(const struct thrum__model *model, uint32_t task, int64_t wait,
	int64_t signal)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out), act, lock, condition;
	int place = 0;

	while (thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) >= wait &&
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
		edge = THRUM__EDGE(model, edge, prev_out);
	act = thrum__model_has_row(&model->edges, edge) ? THRUM__EDGE(model, edge, prev_out)
							: THRUM__NONE;
	if (!thrum__model_has_row(&model->edges, act) ||
		THRUM__EDGE(model, act, kind) != THRUM__EDGE_UNLOCK)
		return false;
	lock = THRUM__EDGE(model, act, to);
	condition = THRUM__EDGE(model, edge, to);
	THRUM__EDGES_BACK (model, act, prev_out, LOOK_BACK) {
		int kind = THRUM__EDGE(model, act, kind);
		uint32_t to = THRUM__EDGE(model, act, to);

		if (THRUM__EDGE(model, act, time) <= signal ||
			(kind == THRUM__EDGE_WAIT && to == condition))
			return false;
		if (kind == THRUM__EDGE_SIGNAL && to != condition &&
			thrum__why_lock_of_condition(model, to) == lock)
			return true;
		if (kind != THRUM__EDGE_LOCK || to != lock)
			continue;
		if (place > 0 && thrum__model_edge_place(model, act) == place)
			return true;
		if (place == 0)
			place = thrum__model_edge_place(model, act);
	}
	return false;
}

/*
 * A signal in a thrum recording says how many waiters heard it. In a mirage-profile trace it
 * doesn't, and the beginning of a wait looks like a signal too: there, a signal was lost only if
 * the condition does nothing between it and the next one.
 */
uint32_t thrum__why_lost_signal(const struct thrum__model *model, uint32_t condition,
	uint32_t waiter, int64_t wait)
{
	uint32_t act = THRUM__TASK(model, condition, edge_out);
	int64_t next = THRUM__OPEN;

	THRUM__ACTS_ON (model, condition, edge, UINT32_MAX, THRUM__EDGE_SIGNAL) {
		int64_t time = THRUM__EDGE(model, edge, time);

		/* The condition's acts before that time may be forgotten. */
		if (model->is_mirage && time < model->forgotten)
			return THRUM__NONE;
		/* This skips the signal that is the beginning of the wait itself: it lies just
		 * before the wait. */
		if (model->is_mirage && has_acted(model, condition, &act, time, next)) {
			next = time;
			continue;
		}
		if (time > wait || (!model->is_mirage && thrum__model_waiters(model, edge) != 0))
			return THRUM__NONE;
		return !model->is_mirage &&
				(THRUM__EDGE(model, edge, from) == waiter ||
					is_usual(model, edge) ||
					lacks_work(model, THRUM__EDGE(model, edge, from)) ||
					has_passed(model, waiter, wait, time))
			? THRUM__NONE
			: edge;
	}
	return THRUM__NONE;
}
