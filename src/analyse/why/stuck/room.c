/* SPDX-License-Identifier: ISC */
/*
 * Tells whether tasks wait for room in a queue, and not for the next item. A condition for each is signalled.
 * A full queue looks like an empty one of holes, but for its beginning: an item was put there before one was
 * taken. A task that waits for room doesn't idle, as it has an item to put. Or all that took items out of a
 * mailbox or stream have ended, and one that has an item to put there waits in vain.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */
#define NEEDED_MIN 3   /* so often it gave what the others need: a gate may be opened once */

#define TAKEN_MIN 3 /* so many items show who puts and who takes */

/* The signals that count. */
enum {
	BY_ALL,
	BY_ONE,
	BY_OTHERS
};

/* How often a condition was signalled: by all, by one task, or by all others. Sets *first to the first time;
 * OPEN: never, or that isn't known. */
static uint32_t count_signals(struct thrum__search *search, uint32_t on, int by, uint32_t task,
	int64_t *first)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, on, edge_in), count = 0;
	int64_t earliest = THRUM__OPEN;

	*first = THRUM__OPEN;
	THRUM__EDGES_BACK (model, edge, prev_in, UINT32_MAX) {
		if (!thrum__why_spend(search, 1))
			return count;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL ||
			(by != BY_ALL &&
				(thrum__why_actor(model, edge) == task) == (by == BY_OTHERS)))
			continue;
		earliest = THRUM__EDGE(model, edge, time);
		count++;
	}
	if (edge == THRUM__NONE)
		*first = earliest;
	return count;
}

/* ---- One that waits for room ---------------------------------------------------------------- */

/* Whether one of some tasks has waited for an object. */
static bool have_waited(const struct thrum__model *model, uint32_t object,
	const struct thrum__why_servers *servers)
{
	for (unsigned i = 0; i < servers->count; i++)
		if (thrum__why_waits_on(model, servers->task[i], object) > 0)
			return true;
	return false;
}

bool thrum__why_wants_room(struct thrum__search *search, uint32_t room, uint32_t waiter,
	const struct thrum__why_servers *servers, uint32_t needed)
{
	const struct thrum__model *model = search->model;
	int64_t put, taken;
	bool has_waited = false, has_put = false;

	if (!thrum__why_is_condition(model, room) ||
		count_signals(search, needed, BY_ONE, waiter, &put) < NEEDED_MIN)
		return false;
	(void)count_signals(search, room, BY_OTHERS, waiter, &taken);
	THRUM__EDGES_FROM (model, waiter, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_WAIT && to == room) {
			if (has_put)
				return true;
			has_waited = true;
		}
		if (kind != THRUM__EDGE_SIGNAL || !has_waited || has_put || to == needed ||
			!thrum__why_is_condition(model, to))
			continue;
		(void)count_signals(search, to, BY_ONE, waiter, &put);
		has_put = put < taken && (to == room || have_waited(model, to, servers));
	}
	return false;
}

/* ---- All that make room wait for it --------------------------------------------------------- */

/* The other condition that a task signalled last; NONE: there is none. */
static uint32_t other_of(const struct thrum__model *model, uint32_t task, uint32_t condition)
{
	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL && to != condition &&
			thrum__why_is_condition(model, to))
			return to;
	}
	return THRUM__NONE;
}

bool thrum__why_lacks_room(struct thrum__search *search, const struct thrum__why_path *path,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t items = THRUM__NONE;
	int64_t put, taken;
	unsigned first;

	if (!last || !thrum__why_is_condition(model, path->leaf) || servers->pending == 0 ||
		!servers->is_whole ||
		thrum__why_able_servers(search, path->leaf, servers, &first) > 0)
		return false;
	for (unsigned i = 0; i < servers->count; i++) {
		uint32_t other = other_of(model, servers->task[i], path->leaf);

		if (other == THRUM__NONE || (items != THRUM__NONE && other != items))
			return false;
		items = other;
	}
	(void)count_signals(search, path->leaf, BY_ALL, THRUM__NONE, &taken);
	(void)count_signals(search, items, BY_ALL, THRUM__NONE, &put);
	return taken != THRUM__OPEN && put < taken &&
		thrum__why_all_look(search, last->task, last->wait.since);
}

/* ---- Those who took have left --------------------------------------------------------------- */

/* Whether two tasks are of one family, or peers. */
static bool are_akin(const struct thrum__search *search, uint32_t a, uint32_t b)
{
	const struct thrum__peer *family = thrum__why_peers_family(&search->peers, a);

	return thrum__why_are_peers(search, a, b) ||
		(family && family == thrum__why_peers_family(&search->peers, b));
}

/* Adds how many items were taken out of an object. Returns false if the like of a putter took some, others
 * put some in, or may still take some at the leaf; or if that isn't known. */
static bool add_taken(struct thrum__search *search, uint32_t object, uint32_t leaf, uint32_t putter,
	unsigned *taken)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, object, edge_in);

	THRUM__EDGES_BACK (model, edge, prev_in, UINT32_MAX) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t task = THRUM__EDGE(model, edge, from);

		if (kind != THRUM__EDGE_SIGNAL && kind != THRUM__EDGE_READ &&
			kind != THRUM__EDGE_WAIT)
			continue;
		if (search->budget == 0 || !thrum__model_has_row(&model->tasks, task))
			return false;
		search->budget--;
		*taken += kind == THRUM__EDGE_READ;
		if (are_akin(search, task, putter) ? kind == THRUM__EDGE_READ
						   : kind == THRUM__EDGE_SIGNAL ||
					(object == leaf &&
						thrum__analyse_task_is_pending(model, task)))
			return false;
	}
	return edge == THRUM__NONE;
}

bool thrum__why_add_left_taker(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t leaf = path->leaf, took = thrum__why_edge_to(model, leaf, THRUM__EDGE_READ);
	uint32_t taker = thrum__why_actor(model, took);
	unsigned taken = 0;

	if ((THRUM__TASK(model, leaf, kind) != THRUM_KIND_MAILBOX &&
		    THRUM__TASK(model, leaf, kind) != THRUM_KIND_STREAM) ||
		taker == THRUM__NONE || THRUM__TASK(model, taker, state) != THRUM__STATE_RESOLVED)
		return false;
	THRUM__EACH_TASK (model, i)
		if (thrum__why_are_peers(search, i, leaf) &&
			!add_taken(search, i, leaf, thrum__why_path_last(path)->task, &taken))
			return false;
	if (taken < TAKEN_MIN)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_SERVER_ENDED, taker, leaf,
				    THRUM__TASK(model, taker, end), took),
		THRUM__NOBODY_TAKES);
	return true;
}
