/* SPDX-License-Identifier: ISC */
/* Finds the permits of a semaphore that were never given back, so that all others queue for the rest. */
#include "analyse/graph.h"
#include "analyse/locks.h"
#include "analyse/slow/answer.h"

/* The first semaphore among a cause's links, or NONE. */
static uint32_t semaphore_of(const struct thrum__model *model, const struct thrum__cause *cause)
{
	for (uint32_t i = 0; i < cause->count; i++) {
		uint32_t task = cause->links[i].task;

		if (thrum__model_has_row(&model->tasks, task) &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_SEMAPHORE)
			return task;
	}
	return THRUM__NONE;
}

/* Whether a holder had ended by a time. */
static bool is_lost(const struct thrum__model *model, const struct thrum__analyse_hold *hold,
	int64_t before)
{
	return thrum__model_has_row(&model->tasks, hold->task) &&
		!thrum__analyse_task_is_pending(model, hold->task) &&
		!thrum__model_is_unsure(model, hold->task) &&
		THRUM__TASK(model, hold->task, end) < before;
}

int thrum__slow_permits_find(const struct thrum__model *model, const struct thrum__cause *cause,
	int64_t before, struct thrum__slow_permits *permits)
{
	struct thrum__analyse_lock lock;
	int error;

	*permits = (struct thrum__slow_permits){.semaphore = semaphore_of(model, cause)};
	if (permits->semaphore == THRUM__NONE || model->lost > 0)
		return 0;
	error = thrum__analyse_lock_make(model, permits->semaphore, &lock);
	if (error < 0)
		return error;
	/* Each release was by one that took a permit, or had it from one that did: so these have the
	 * others. And it counts permits, not events that others post. */
	for (uint32_t i = 0;
		i < lock.count && lock.released > 0 && lock.strange == 0 && !lock.is_cut; i++) {
		if (!is_lost(model, &lock.holds[i], before))
			continue;
		if (permits->count < THRUM__CAUSE_NAMES)
			permits->tasks[permits->count] = thrum__analyse_task_known_as(model,
				lock.holds[i].task);
		permits->count++;
	}
	thrum__analyse_lock_free(&lock);
	return 0;
}
