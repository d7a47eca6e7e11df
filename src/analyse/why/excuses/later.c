/* SPDX-License-Identifier: ISC */
/*
 * Tells whether several tasks serve the leaf, and all of them wait, in turn, for what may yet come: the end
 * of a sleep, or the next event of the outside. So idle are the later stages of a pipeline, if each has
 * several workers. Where a single task serves the leaf, the path itself leads there. And whether a thread
 * waits for an object for a limited time only: it goes on then, and most likely waits again, as one with
 * regular work.
 */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/excuses/excuses.h"

#define SEEN_MAX 64

/* The tasks and objects that were seen so far. */
struct survey {
	const struct thrum__search *search;
	uint32_t seen[SEEN_MAX];
	unsigned count;
	bool may_come; /* one of them waits for what may yet come */
};

static bool is_seen(const struct survey *survey, uint32_t task)
{
	return thrum__why_is_among(survey->seen, survey->count, task);
}

/* Returns false if there are too many. */
static bool note(struct survey *survey, uint32_t task)
{
	if (survey->count == SEEN_MAX)
		return false;
	survey->seen[survey->count++] = task;
	return true;
}

bool thrum__why_call_may_end(const struct thrum__search *search, uint32_t call)
{
	return thrum__why_is_in_call(search->model, call) &&
		(THRUM__TASK(search->model, call, kind) != THRUM_KIND_TIMER ||
			thrum__why_is_running_timer(search, call));
}

/* Follows the waits of a task. Returns the object for which the last one of them waits; or NONE, and sets
 * *is_over to whether that way is over without harm. Sets *waiter to the last one. */
static uint32_t follow(struct survey *survey, uint32_t task, uint32_t *waiter, bool *is_over)
{
	const struct thrum__search *search = survey->search;

	*is_over = false;
	for (;;) {
		struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph,
			task);
		uint32_t on;

		*is_over = is_seen(survey, task);
		if (*is_over || !note(survey, task) || waits.count != 1 ||
			!thrum__why_is_blocked(search->model, task, &waits.waits[0]))
			return THRUM__NONE;
		on = waits.waits[0].on;
		*waiter = task;
		if (thrum__analyse_task_is_object(search->model, on) &&
			!thrum__why_is_lock(search, on))
			return on;
		*is_over = thrum__why_call_may_end(search, on);
		survey->may_come |= *is_over;
		task = waits.waits[0].next;
		if (*is_over || task == THRUM__NONE)
			return THRUM__NONE;
	}
}

/* Whether a thread's loop waits for events from outside, as its recorder says: also for a handler. */
static bool hears_outside(const struct thrum__search *search, uint32_t thread)
{
	return thrum__analyse_graph_waits(&search->graph, thread).count == 0 &&
		thrum__why_lane_rests_for(search->model,
			thrum__why_last_lane(search->model, thread), THRUM__REASON_WORK_OUTSIDE);
}

/* Whether all that serve an object, and wait for others, lead on to what may come, as far as is seen here.
 * Further objects for which they wait are looked at next. */
static bool lead_on(struct survey *survey, uint32_t object, uint32_t waiter,
	uint32_t objects[SEEN_MAX], uint32_t waiters[SEEN_MAX], unsigned *count)
{
	const struct thrum__model *model = survey->search->model;
	struct thrum__why_servers servers;

	if (thrum__why_is_barrier(model, object))
		return false;
	thrum__why_servers_of(model, object, waiter, &servers);
	for (unsigned i = 0; i < servers.count; i++) {
		uint32_t further, last = THRUM__NONE;
		bool is_over;

		if (!thrum__analyse_task_is_pending(model, servers.task[i]))
			continue;
		if (thrum__why_has_turn(model, servers.task[i], object, waiter) ||
			hears_outside(survey->search, servers.task[i])) {
			survey->may_come = true;
			continue;
		}
		further = follow(survey, servers.task[i], &last, &is_over);
		if (further == THRUM__NONE && !is_over)
			return false;
		if (further == THRUM__NONE || is_seen(survey, further))
			continue;
		if (!note(survey, further) || *count == SEEN_MAX)
			return false;
		objects[*count] = further;
		waiters[(*count)++] = last;
	}
	return servers.pending > 0;
}

bool thrum__why_may_be_served(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct survey survey = {.search = search};
	uint32_t objects[SEEN_MAX] = {path->leaf}, waiters[SEEN_MAX];
	unsigned count = 1;

	if (path->length == 0 || search->is_dead || thrum__why_is_lock(search, path->leaf))
		return false;
	waiters[0] = thrum__why_path_last(path)->task;
	if (!note(&survey, path->leaf))
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!lead_on(&survey, objects[i], waiters[i], objects, waiters, &count))
			return false;
	return survey.may_come;
}

/* Whether others like a thread ended, all that told it to go on have, or it was told so since it waits: then
 * it should end, too. */
static bool should_go_on(const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, link->task);
	uint32_t signal = thrum__why_edge_to(model, link->wait.on, THRUM__EDGE_SIGNAL);
	struct thrum__why_servers servers;

	thrum__why_servers_of(model, link->wait.on, link->task, &servers);
	return (peer && peer->ended > 0) ||
		(servers.count > 0 && servers.pending == 0 && servers.is_whole) ||
		(signal != THRUM__NONE && THRUM__EDGE(model, signal, time) > link->wait.since);
}

static bool is_limited_link(const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_last_lane(model, link->task);

	return lane != THRUM__NONE && !link->is_served &&
		THRUM__TASK(model, link->task, kind) == THRUM_KIND_THREAD &&
		thrum__analyse_task_is_object(model, link->wait.on) &&
		!thrum__why_is_lock(search, link->wait.on) &&
		thrum__why_timed_task(model, lane) == link->task && !should_go_on(search, link);
}

bool thrum__why_is_limited(const struct thrum__search *search, const struct thrum__why_path *path)
{
	if (path->length == 0 || search->is_dead)
		return false;
	if (path->circle == THRUM__NONE)
		return is_limited_link(search, thrum__why_path_last(path));
	for (uint32_t i = path->circle; i < path->length; i++)
		if (is_limited_link(search, &path->links[i]))
			return true;
	return false;
}
