/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that ended without serving an object, though all others like them did before they ended: who
 * returned early and didn't count a latch down, or kept a token that came out of a pipe. Or all that ended
 * since a wait began, though those before served the condition. Or a task that ended before a wait which
 * needs a signal of each: all others have given theirs.
 */
#include "analyse/places.h"
#include "analyse/why/objects/objects.h"

#define LIKE_MIN 2 /* so many show that tasks like them serve the object */

/* Whether a task owes the object something: out of a mailbox or stream it has taken what its like put
 * back. */
static bool owes(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	return (THRUM__TASK(model, object, kind) != THRUM_KIND_MAILBOX &&
		       THRUM__TASK(model, object, kind) != THRUM_KIND_STREAM) ||
		thrum__why_has_acted(model, task, THRUM__EDGE_READ, object);
}

/* Sets *at to the first task from there on that is like another one. Returns false if there is none, or, with
 * *at as NONE, once the budget is used up. */
static bool find_like(struct thrum__search *search, uint32_t like, uint32_t *at)
{
	const struct thrum__model *model = search->model;

	for (*at = thrum__analyse_next_task(model, *at); *at < model->tasks.count;
		*at = thrum__analyse_next_task(model, *at + 1)) {
		if (!thrum__why_spend(search, 1)) {
			*at = THRUM__NONE;
			return false;
		}
		if (thrum__why_is_alike(search, like, *at))
			return true;
	}
	return false;
}

/* Adds a task that has ended. Returns false if what it did may be forgotten, or it failed. */
static bool add_deserter(const struct thrum__search *search, uint32_t task,
	struct thrum__why_deserters *found)
{
	if (THRUM__TASK(search->model, task, state) != THRUM__STATE_RESOLVED ||
		THRUM__TASK(search->model, task, created) <= search->gap)
		return false;
	if (found->count < THRUM__DESERTERS_MAX)
		found->task[found->count] = task;
	found->count++;
	return true;
}

/* Whether the only one found was the last of a series in which each made the next: so it had nothing
 * more to do. */
static bool ends_series(const struct thrum__search *search,
	const struct thrum__why_deserters *found, uint32_t last)
{
	const struct thrum__model *model = search->model;

	return found->count == 1 && found->task[0] == last &&
		thrum__model_has_row(&model->tasks, THRUM__TASK(model, last, creator)) &&
		thrum__why_is_alike(search, last, THRUM__TASK(model, last, creator));
}

/* Looks at all tasks like one that served an object. */
static struct thrum__why_deserters look_at_like(struct thrum__search *search, uint32_t object,
	uint32_t like, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_deserters found = {0}, none = {0};
	uint32_t served = 0, last = THRUM__NONE, i = 0;

	for (; find_like(search, like, &i); last = i++) {
		if (thrum__analyse_task_is_pending(model, i)) {
			if (thrum__why_may_serve(search, i, object))
				return none;
			continue;
		}
		found.last = THRUM__TASK(model, i, end) > found.last ? THRUM__TASK(model, i, end)
								     : found.last;
		if (thrum__why_is_server(servers, i)) {
			served++;
			continue;
		}
		if (owes(model, i, object) && !add_deserter(search, i, &found))
			return none;
	}
	return i != THRUM__NONE && served >= LIKE_MIN && found.count < served &&
			!ends_series(search, &found, last)
		? found
		: none;
}

/* Looks at all tasks like one that served a condition before a time, and counts those that ended since. */
static struct thrum__why_deserters look_since(struct thrum__search *search, uint32_t like,
	const struct thrum__why_servers *servers, int64_t since)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_deserters found = {0}, none = {0};
	uint32_t served = 0, pending = 0, last = THRUM__NONE, i = 0;

	for (; find_like(search, like, &i); last = i++)
		if (thrum__why_is_server(servers, i)) {
			served++;
		} else if (thrum__analyse_task_is_pending(model, i)) {
			pending++;
		} else if (THRUM__TASK(model, i, end) > since && !add_deserter(search, i, &found)) {
			return none;
		}
	return i != THRUM__NONE && served >= LIKE_MIN &&
			(found.count >= LIKE_MIN || pending == 0) &&
			!ends_series(search, &found, last)
		? found
		: none;
}

struct thrum__why_deserters thrum__why_quitters_of(struct thrum__search *search, uint32_t condition,
	const struct thrum__why_servers *servers, int64_t since)
{
	const struct thrum__model *model = search->model;

	if (THRUM__TASK(model, condition, kind) != THRUM_KIND_CONDITION || servers->count == 0)
		return (struct thrum__why_deserters){0};
	for (unsigned i = 0; i < servers->count; i++)
		if (thrum__analyse_task_is_pending(model, servers->task[i]) ||
			thrum__analyse_task_is_lane(model, servers->task[i]) ||
			THRUM__TASK(model, servers->task[i], end) > since)
			return (struct thrum__why_deserters){0};
	return look_since(search, servers->task[0], servers, since);
}

struct thrum__why_deserters thrum__why_deserters_of(struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;

	for (unsigned i = 0; i < servers->count && servers->is_whole; i++)
		if (!thrum__analyse_task_is_pending(model, servers->task[i]) &&
			!thrum__analyse_task_is_lane(model, servers->task[i]))
			return look_at_like(search, object, servers->task[i], servers);
	return (struct thrum__why_deserters){0};
}

/* ---- Each has to signal --------------------------------------------------------------------- */

/* Whether two tasks are alike; threads are by their names. */
static bool is_of_sort(const struct thrum__search *search, uint32_t a, uint32_t b)
{
	const struct thrum__model *model = search->model;

	return thrum__analyse_task_is_lane(model, a) && thrum__analyse_task_is_lane(model, b)
		? *thrum__model_task_name(model, a, NULL) && thrum__why_are_named_alike(model, a, b)
		: thrum__why_is_alike(search, a, b);
}

uint32_t thrum__why_missing_voice(const struct thrum__search *search,
	const struct thrum__why_link *wait, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	uint32_t object = wait->wait.on, gone = THRUM__NONE, like = THRUM__NONE;
	int64_t since = thrum__why_waits_again(model, wait->task, object, INT64_MIN, model->end);

	if ((THRUM__TASK(model, object, kind) != THRUM_KIND_CONDITION &&
		    THRUM__TASK(model, object, kind) != THRUM_KIND_MAILBOX) ||
		servers->pending < LIKE_MIN || servers->pending + 1 != servers->count)
		return THRUM__NONE;
	for (unsigned i = 0; i < servers->count; i++) {
		uint32_t task = servers->task[i];
		int64_t time = THRUM__EDGE(model, servers->edge[i], time);

		if (!thrum__analyse_task_is_pending(model, task)) {
			gone = task;
			if (time >= since || THRUM__TASK(model, task, end) > wait->wait.since)
				return THRUM__NONE;
			continue;
		}
		/* The wait went on after each signal. */
		if (time < since || time > wait->wait.since ||
			(like != THRUM__NONE && !is_of_sort(search, task, like)))
			return THRUM__NONE;
		like = task;
	}
	return is_of_sort(search, gone, like) ? gone : THRUM__NONE;
}
