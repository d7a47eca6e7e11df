/* SPDX-License-Identifier: ISC */
/*
 * Tells of failures that explain what is missing: the one with which a task ended that keeps a permit, the
 * one that no later try made up for, the one after which a chain of tries broke off, and the one beside a
 * handle that alone keeps a join.
 */
#include "analyse/why/unusual/unusual.h"

#define LOOK_BACK 64    /* edges of a task that are searched, from the latest back */
#define TASKS_BACK 4096 /* tasks that are searched for failures, from the latest back */
#define NAMES_MAX 16    /* names under which tasks failed: with more, failures are usual */
#define RESOLVED_MIN 3  /* so many others like it show that it should have been resolved */
#define SOON 1000000    /* ns from the end of a try to the next one */
#define LATE_TIMES 20   /* so many times as old as its peers became, a handle is kept */

/* ---- The failure behind a kept permit ------------------------------------------------------- */

/* The task with a name whose failure another one learned of; NONE: there is none. */
static uint32_t failure_read_by(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ ||
			!thrum__model_has_row(&model->tasks, to))
			continue;
		to = thrum__why_named_origin(model, to);
		return THRUM__TASK(model, to, state) == THRUM__STATE_FAILED &&
				*thrum__model_task_name(model, to, NULL)
			? to
			: THRUM__NONE;
	}
	return THRUM__NONE;
}

/* Adds a step for the failure of which a task without a name learned, if there is one. */
static void add_failure_read_by(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task, uint32_t other)
{
	struct thrum__why_blame blame = {THRUM__STEP_FAILED, THRUM__NONE, other};

	if (!*thrum__model_task_name(model, task, NULL))
		blame.task = failure_read_by(model, task);
	if (blame.task != THRUM__NONE && blame.task != task)
		thrum__why_add_blame(finding, model, &blame);
}

void thrum__why_add_blame_and_failure(struct thrum__finding *finding,
	const struct thrum__model *model, const struct thrum__why_blame *blame)
{
	if (blame->kind == THRUM__STEP_ENDS_WITHOUT)
		add_failure_read_by(finding, model, blame->task, blame->other);
	thrum__why_add_blame(finding, model, blame);
}

/* Whether a task that released a lock had learned of a failure, too. */
static bool is_released_after_failure(const struct thrum__model *model, uint32_t lock)
{
	THRUM__EDGES_TO (model, lock, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_UNLOCK &&
			thrum__model_has_row(&model->tasks, from) &&
			failure_read_by(model, from) != THRUM__NONE)
			return true;
	}
	return false;
}

/* Adds a step for who cancelled a task, or the one whose result it was to read, unless it did so itself. */
static void add_cancelled(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task)
{
	uint32_t first = thrum__why_first_cancelled(model, task);
	uint32_t edge = thrum__why_edge_to(model, first, THRUM__EDGE_CANCEL);
	uint32_t by = thrum__why_actor(model, edge);

	if (by != THRUM__NONE && by != first)
		thrum__why_add_at(finding, model, THRUM__STEP_CANCELLED, first,
			thrum__analyse_task_known_as(model, by), edge);
}

void thrum__why_add_failed_holder(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__analyse_lock *lock)
{
	const struct thrum__analyse_hold *hold = thrum__analyse_lock_lost(model, lock);

	if (!hold || !thrum__model_has_row(&model->tasks, hold->task))
		return;
	if (THRUM__TASK(model, hold->task, state) == THRUM__STATE_CANCELLED)
		add_cancelled(finding, model, hold->task);
	else if (!is_released_after_failure(model, lock->task))
		add_failure_read_by(finding, model, hold->task, lock->task);
}

/* ---- The failure that was never made up for -------------------------------------------------- */

/* Until when something may have happened that explains a wait. If nothing was left to do, or nobody noted
 * when the program ended and all rests, that may have been just before the end. */
static int64_t latest_cause(const struct thrum__search *search, int64_t since)
{
	return search->is_open || search->is_deadlocked ? search->model->end
							: thrum__why_middle(search->model, since);
}

/* Whether several tasks like this one were resolved, also as others that they became under their names, and
 * no later one of its own name was, or is under way. */
static bool is_final(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t name = THRUM__TASK(model, task, name), resolved = 0;

	THRUM__EACH_TASK (model, i) {
		int state = THRUM__TASK(model, i, state);

		if (!thrum__why_spend(search, 1))
			return false;
		if (i > task && THRUM__TASK(model, i, name) == name &&
			state != THRUM__STATE_FAILED && state != THRUM__STATE_CANCELLED)
			return false;
		resolved += resolved < RESOLVED_MIN && state == THRUM__STATE_RESOLVED &&
			THRUM__TASK(model, i, kind) == THRUM__TASK(model, task, kind) &&
			thrum__why_are_named_alike(model, task, i);
	}
	return resolved == RESOLVED_MIN;
}

uint32_t thrum__why_failed_for_good(struct thrum__search *search, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t names[NAMES_MAX], count = 0, found = THRUM__NONE, at = model->tasks.count;
	int64_t until = latest_cause(search, since);

	if (search->gap >= 0 || model->is_cut)
		return found;
	for (unsigned i = 0; i < TASKS_BACK && search->budget > 0 && at-- > model->tasks.first;
		i++, search->budget--) {
		unsigned k = 0;

		if (!thrum__model_has_row(&model->tasks, at) ||
			!thrum__why_has_failed_in(model, at, 0, until))
			continue;
		while (k < count && names[k] != THRUM__TASK(model, at, name))
			k++;
		if (k < count)
			continue;
		if (count == NAMES_MAX)
			return THRUM__NONE;
		names[count++] = THRUM__TASK(model, at, name);
		if (!is_final(search, at))
			continue;
		/* With several of them, failures are usual. */
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = at;
	}
	return search->budget > 0 ? found : THRUM__NONE;
}

/* ---- The last of a chain of tries --------------------------------------------------------------- */

/* Whether all tasks like this one came one after the other: each began when the one before had just ended.
 * This one must be the last. Sets *next to the second. */
static bool is_chain(struct thrum__search *search, uint32_t last, uint32_t *next)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, last), before = THRUM__NONE;

	*next = THRUM__NONE;
	THRUM__EACH_TASK (model, i) {
		if (!thrum__why_spend(search, 1))
			return false;
		if (thrum__why_peers_key(&search->peers, i) != key)
			continue;
		if (i > last)
			return false;
		if (before != THRUM__NONE) {
			int64_t end = THRUM__TASK(model, before, end);

			if (THRUM__TASK(model, i, created) < end ||
				THRUM__TASK(model, i, created) - end > SOON)
				return false;
			*next = *next == THRUM__NONE ? i : *next;
		}
		before = i;
	}
	return before == last && *next != THRUM__NONE;
}

uint32_t thrum__why_last_try(struct thrum__search *search, int64_t since, uint32_t *next)
{
	const struct thrum__model *model = search->model;
	uint32_t at = model->tasks.count;
	int64_t until = latest_cause(search, since);

	if (search->gap >= 0 || model->is_cut)
		return THRUM__NONE;
	for (unsigned i = 0; i < TASKS_BACK && search->budget > 0 && at-- > model->tasks.first;
		i++, search->budget--)
		if (thrum__model_has_row(&model->tasks, at) &&
			thrum__why_has_failed_in(model, at, 0, until) &&
			thrum__why_peers_key(&search->peers, at) != THRUM__NONE)
			return THRUM__TASK(model, at, state) == THRUM__STATE_FAILED &&
					is_chain(search, at, next)
				? at
				: THRUM__NONE;
	return THRUM__NONE;
}

/* ---- The handle that alone keeps a join ------------------------------------------------------ */

/* Whether all that a join waited for were handles like this one, and all others, three or more, were
 * resolved. */
static bool is_last_source(const struct thrum__search *search, uint32_t join, uint32_t handle)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, join, edge_out), resolved = 0;

	THRUM__EDGES_BACK (model, edge, prev_out, TASKS_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT || to == handle)
			continue;
		if (!thrum__model_has_row(&model->tasks, to) ||
			!thrum__why_is_alike(search, handle, to) ||
			THRUM__TASK(model, to, state) != THRUM__STATE_RESOLVED)
			return false;
		resolved++;
	}
	return edge == THRUM__NONE && resolved >= RESOLVED_MIN;
}

bool thrum__why_keeps_join(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	return path->is_marked && last && !last->is_served &&
		THRUM__TASK(model, last->task, kind) == THRUM_KIND_JOIN &&
		thrum__why_peers_lateness(&search->peers, path->leaf) >= LATE_TIMES &&
		is_last_source(search, last->task, path->leaf) &&
		thrum__why_failed_meanwhile(search, path->leaf) != THRUM__NONE;
}
