/* SPDX-License-Identifier: ISC */
/*
 * Finds signals that nobody heard and that came before the wait for them, and tells of them. And those that
 * came since, and of which the program says that nobody waits: its own list lacks the one that does.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 256 /* edges of a condition that are searched, from the latest back */

/* Whether a signal of a condition went unheard before this one, too: it is signalled at each turn, whether or
 * not anybody waits. */
static bool is_routine(const struct thrum__model *model, uint32_t signal)
{
	uint32_t edge = THRUM__EDGE(model, signal, prev_in);

	THRUM__EDGES_OF (model, edge, prev_in, LOOK_BACK, THRUM__EDGE_SIGNAL)
		if (thrum__model_waiters(model, edge) == 0)
			return !model->is_mirage;
	return false;
}

/* Finds the lost signal that came before a wait of the path's circle began. The circle itself tells
 * more than a signal that is given at each turn. */
static struct thrum__why_missed missed_in_circle(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_missed missed = {.signal = THRUM__NONE};

	for (uint32_t i = path->circle; i < path->length && missed.signal == THRUM__NONE; i++) {
		const struct thrum__why_link *link = &path->links[i];

		if (link->is_served ||
			THRUM__TASK(model, link->wait.on, kind) != THRUM_KIND_CONDITION)
			continue;
		missed.by = link;
		missed.since = link->wait.since;
		missed.signal = thrum__why_lost_signal(model, link->wait.on, link->task,
			link->wait.since);
		if (missed.signal != THRUM__NONE && is_routine(model, missed.signal))
			missed.signal = THRUM__NONE;
	}
	return missed;
}

/* Finds the only signal of a condition that came before a wait on the path, if nothing can happen any
 * more: then the one that serves the condition need not be to blame, though it is blocked, too. */
static struct thrum__why_missed missed_behind(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_missed missed = {.signal = THRUM__NONE};

	for (uint32_t i = path->length; i-- > 1 && search->is_dead;) {
		const struct thrum__why_link *link = &path->links[i - 1];
		uint32_t signal;

		if (link->is_served || !path->links[i].is_served ||
			THRUM__TASK(model, link->wait.on, kind) != THRUM_KIND_CONDITION)
			continue;
		signal = thrum__why_lost_signal(model, link->wait.on, link->task, link->wait.since);
		if (signal == THRUM__NONE || !thrum__why_is_only_signal(model, signal))
			continue;
		return (struct thrum__why_missed){signal, link, link->wait.since};
	}
	return missed;
}

struct thrum__why_missed thrum__why_missed_signal(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_missed missed = {.signal = THRUM__NONE, .by = thrum__why_path_last(path)};
	uint32_t leaf = path->leaf, condition;
	bool is_itself = THRUM__TASK(model, leaf, kind) == THRUM_KIND_CONDITION;

	if (path->circle != THRUM__NONE)
		return missed_in_circle(search, path);
	condition = is_itself ? leaf : THRUM__TASK(model, leaf, creator);
	if (!missed.by || !thrum__why_is_condition(model, condition))
		return missed_behind(search, path);
	missed.since = is_itself ? missed.by->wait.since : THRUM__TASK(model, leaf, created);
	missed.signal = thrum__why_lost_signal(model, condition, missed.by->task, missed.since);
	return missed;
}

/* Whether a task's thread blocks while the task waits. */
static bool is_blocking(const struct thrum__model *model, uint32_t task)
{
	THRUM__EACH_LANE (model, lane)
		if (lane->running == task)
			return true;
	return THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD ||
		thrum__analyse_task_is_lane(model, task);
}

int thrum__why_missed_certainty(const struct thrum__search *search,
	const struct thrum__why_path *path, uint32_t signal)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	bool is_only = thrum__why_is_only_signal(model, signal);
	bool is_thread = last && is_blocking(model, last->task);

	return thrum__why_certainty(search,
		is_only && !is_thread           ? THRUM__CERTAIN
			: is_only || !is_thread ? THRUM__LIKELY
						: THRUM__POSSIBLE,
		THRUM__EDGE(model, signal, time));
}

void thrum__why_add_missed(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path, const struct thrum__why_missed *missed)
{
	uint32_t condition = THRUM__EDGE(model, missed->signal, to);
	bool is_itself = missed->by->wait.on == condition;

	thrum__why_add_at(finding, model, THRUM__STEP_SIGNAL_LOST, condition,
		thrum__why_known(model, THRUM__EDGE(model, missed->signal, from)), missed->signal);
	thrum__why_add_step(finding, THRUM__STEP_WAITS_LATE,
		is_itself ? missed->by->task : path->leaf, condition, missed->since,
		missed->by->wait.edge);
}

/* ---- Waiters that aren't counted ------------------------------------------------------------- */

bool thrum__why_add_uncounted(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_link *link)
{
	uint32_t condition = link->wait.on;
	uint32_t first = THRUM__NONE, count = 0;
	bool is_heard = false;

	if (THRUM__TASK(model, condition, kind) != THRUM_KIND_CONDITION || model->is_mirage)
		return false;
	THRUM__ACTS_ON (model, condition, edge, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		int64_t waiters, time = THRUM__EDGE(model, edge, time);

		waiters = thrum__model_waiters(model, edge);
		if (waiters < 0 || (waiters > 0 && time > link->wait.since))
			return false;
		is_heard |= waiters > 0;
		if (waiters > 0)
			continue;
		if (time > link->wait.since) {
			first = edge;
			count++;
		} else if (thrum__analyse_had_waiter(model, condition, time - 1)) {
			return false; /* the program doesn't count well */
		}
	}
	if (first == THRUM__NONE || !is_heard)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_SIGNALLED_LAST,
				    thrum__why_known(model, THRUM__EDGE(model, first, from)),
				    condition, THRUM__EDGE(model, first, time), first),
		count);
	return true;
}
