/* SPDX-License-Identifier: ISC */
/* Finds signals that woke one task, though several waited, and the wrong one or too few. */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024  /* edges that are searched, from the latest back */
#define AT_ONCE 1000000 /* ns in which a task that was woken waits again, if it can't use it */
#define HABIT 8         /* so many that were woken and waited again show that this does no harm */

/* The condition's latest signal, if it came after a time and several waited; else NONE. Sets *read to
 * the edge by which the first task was woken after it, or NONE. */
static uint32_t last_signal(const struct thrum__model *model, uint32_t condition, int64_t since,
	uint32_t *read)
{
	uint32_t edge = THRUM__TASK(model, condition, edge_in);

	*read = THRUM__NONE;
	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) > since;
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ)
			*read = edge;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			return thrum__model_waiters(model, edge) > 1 ? edge : THRUM__NONE;
	}
	return THRUM__NONE;
}

/* Whether a task did nothing since a wait for a condition was over but end. */
static bool has_only_ended(const struct thrum__model *model, uint32_t task, uint32_t read)
{
	uint32_t condition = THRUM__EDGE(model, read, to);
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) && edge != read;
		i++, edge = THRUM__EDGE(model, edge, prev_out))
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, to) == condition)
			return false;
	return edge == read && THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED;
}

bool thrum__why_single_wake(const struct thrum__search *search, uint32_t condition, uint32_t waiter,
	int64_t since, struct thrum__why_wake *wake)
{
	const struct thrum__model *model = search->model;
	uint32_t read, last;

	wake->signal = last_signal(model, condition, since, &read);
	if (wake->signal == THRUM__NONE || read == THRUM__NONE)
		return false;
	wake->task = THRUM__EDGE(model, read, from);
	wake->again = THRUM__NONE;
	if (!thrum__model_has_row(&model->tasks, wake->task) || wake->task == waiter)
		return false;
	last = THRUM__TASK(model, wake->task, edge_out);
	if (thrum__model_has_row(&model->edges, last) &&
		thrum__why_act_before(model, last) == read &&
		THRUM__EDGE(model, last, kind) == THRUM__EDGE_WAIT &&
		THRUM__EDGE(model, last, to) == condition &&
		THRUM__EDGE(model, last, time) - THRUM__EDGE(model, read, time) < AT_ONCE) {
		wake->again = last;
		return true;
	}
	last = thrum__why_known(model, THRUM__EDGE(model, wake->signal, from));
	return has_only_ended(model, wake->task, read) &&
		(thrum__why_waits_on(model, wake->task, condition) > 1 ||
			thrum__why_waits_on(model, waiter, condition) > 1 ||
			(last != THRUM__NONE && !thrum__analyse_task_is_lane(model, last) &&
				!thrum__analyse_task_is_pending(model, last))) &&
		thrum__why_peers_key(&search->peers, wake->task) ==
		thrum__why_peers_key(&search->peers, waiter);
}

/* Whether the signal that a task gave last before a wait began woke one that went back to wait, while one
 * sleeps on that waited there before. */
static bool is_taken(const struct thrum__search *search, uint32_t wait,
	struct thrum__why_wake *wake)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = wait, signal, from;

	while (thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
		edge = THRUM__EDGE(model, edge, prev_out);
	/* One that waited before it for the same condition, and still does. */
	for (signal = edge; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_in)) {
		from = THRUM__EDGE(model, edge, from);
		if (thrum__analyse_task_is_pending(model, from) &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_last_edge(model, from) == edge)
			return thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)) &&
				thrum__why_single_wake(search, THRUM__EDGE(model, edge, to), from,
					THRUM__EDGE(model, edge, time), wake) &&
				wake->signal == signal && wake->again != THRUM__NONE;
	}
	return false;
}

/* Whether a task is ready and never ran, and a waiter made it ready. */
static bool is_job_of(const struct thrum__model *model, uint32_t task, uint32_t waiter)
{
	return THRUM__TASK(model, task, run) == THRUM__NONE &&
		thrum__why_is_said_ready(model, task) &&
		thrum__why_actor_to(model, task, THRUM__EDGE_READY) == waiter;
}

bool thrum__why_taken_wake(const struct thrum__search *search, const struct thrum__why_path *path,
	struct thrum__why_wake *wake)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	return last && !last->is_served &&
		(THRUM__TASK(search->model, path->leaf, kind) == THRUM_KIND_CONDITION ||
			is_job_of(search->model, path->leaf, last->task)) &&
		is_taken(search, last->wait.edge, wake);
}

/* Whether all that ever signalled one condition wait for another one. */
static bool do_all_wait(const struct thrum__search *search, uint32_t served, uint32_t waiter,
	uint32_t condition)
{
	struct thrum__why_servers servers;

	thrum__why_servers_of(search->model, served, waiter, &servers);
	for (unsigned i = 0; i < servers.count; i++) {
		const struct thrum__analyse_wait *wait = thrum__why_wait_of(search,
			servers.task[i]);

		if (!thrum__analyse_task_is_pending(search->model, servers.task[i]) || !wait ||
			wait->on != condition)
			return false;
	}
	return servers.is_whole && servers.count > 1;
}

/* Whether tasks that were woken by a condition went back to wait at once, as a rule. */
static bool is_usual(const struct thrum__model *model, uint32_t condition)
{
	uint32_t count = 0;

	THRUM__ACTS_ON (model, condition, edge, LOOK_BACK, THRUM__EDGE_WAIT) {
		uint32_t before = thrum__why_act_before(model, edge);

		count += thrum__model_has_row(&model->edges, before) &&
			THRUM__EDGE(model, before, kind) == THRUM__EDGE_READ &&
			THRUM__EDGE(model, before, to) == condition &&
			THRUM__EDGE(model, edge, time) - THRUM__EDGE(model, before, time) < AT_ONCE;
	}
	return count >= HABIT;
}

bool thrum__why_unheard_call(const struct thrum__search *search, const struct thrum__why_path *path,
	struct thrum__why_wake *wake)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (!last || last->is_served ||
		THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_CONDITION)
		return false;
	THRUM__ACTS_ON (model, path->leaf, edge, LOOK_BACK, THRUM__EDGE_WAIT) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (thrum__analyse_task_is_pending(model, from) &&
			thrum__model_last_edge(model, from) == edge && is_taken(search, edge, wake))
			return !is_usual(model, THRUM__EDGE(model, wake->signal, to)) &&
				do_all_wait(search, path->leaf, last->task,
					THRUM__EDGE(model, wake->signal, to));
	}
	return false;
}

/* ---- Passed over ------------------------------------------------------------------------------ */

/* Whether a task signalled a condition, as far as its servers are known. */
static bool serves(const struct thrum__model *model, uint32_t task, uint32_t condition,
	uint32_t waiter)
{
	struct thrum__why_servers servers;

	if (THRUM__TASK(model, condition, kind) != THRUM_KIND_CONDITION)
		return false;
	thrum__why_servers_of(model, condition, waiter, &servers);
	return thrum__why_is_server(&servers, task);
}

/* Whether a task that waits for a condition was passed over by the last signal: that woke another task, which
 * waits for another condition now, one that the first task serves. */
static bool is_passed_over(const struct thrum__search *search, uint32_t task,
	struct thrum__why_wake *wake)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *own = thrum__why_wait_of(search, task), *other;
	uint32_t read;

	if (!own || THRUM__TASK(model, own->on, kind) != THRUM_KIND_CONDITION ||
		!thrum__why_is_blocked(model, task, own))
		return false;
	wake->signal = last_signal(model, own->on, own->since, &read);
	if (wake->signal == THRUM__NONE || read == THRUM__NONE)
		return false;
	wake->task = THRUM__EDGE(model, read, from);
	if (wake->task == task || !thrum__analyse_task_is_pending(model, wake->task))
		return false;
	other = thrum__why_wait_of(search, wake->task);
	if (!other || other->since < THRUM__EDGE(model, read, time) ||
		!thrum__why_is_blocked(model, wake->task, other))
		return false;
	wake->again = other->edge;
	return thrum__model_has_row(&model->edges, wake->again) && other->on != own->on &&
		serves(model, task, other->on, wake->task);
}

bool thrum__why_passed_over(const struct thrum__search *search, const struct thrum__why_path *path,
	struct thrum__why_wake *wake)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_servers servers;

	for (uint32_t i = 0; i < path->length; i++)
		if (is_passed_over(search, path->links[i].task, wake))
			return true;
	if (!last || last->is_served ||
		THRUM__TASK(search->model, path->leaf, kind) != THRUM_KIND_CONDITION)
		return false;
	thrum__why_servers_of(search->model, path->leaf, last->task, &servers);
	for (unsigned i = 0; i < servers.count; i++)
		if (thrum__analyse_task_is_pending(search->model, servers.task[i]) &&
			is_passed_over(search, servers.task[i], wake))
			return true;
	return false;
}
