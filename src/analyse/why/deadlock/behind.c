/* SPDX-License-Identifier: ISC */
/*
 * Requests about files that lie behind works in libuv's pool. Each thread of the pool runs a work that waits
 * for the callback of such a request, or of one that follows it, and the request needs a thread of the pool.
 *
 * Nothing is recorded when a thread begins such a request. But the pool begins what it has in the order in
 * which it was queued: so one that was queued after all these works found no thread. Earlier waits tell who
 * ends them: all that ever ended one was such a callback, and at least one of the works waits for an object
 * that was served before. If a work made its object anew, those of the last work like it tell the same.
 */
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/objects/objects.h"

#define LONG 1000000000 /* ns: so long, a slow disk may take for a request that isn't the pool's */
#define CHAIN_MAX 16    /* requests that follow each other, as open, read, close */
#define WAITS_BACK 64   /* edges of a work that ended, from the latest back */

/* When the latest of the works was queued; -1: they are no works of libuv. */
static int64_t latest_of(const struct thrum__model *model, const uint32_t *works, uint32_t count)
{
	int64_t latest = -1;

	for (uint32_t i = 0; i < count; i++) {
		int64_t queued = THRUM__TASK(model, works[i], created);

		if (!THRUM__BEGINS_WITH(model, works[i], "work "))
			return -1;
		latest = queued > latest ? queued : latest;
	}
	return latest;
}

/* Whether a task is such a request, or follows one. */
static bool follows(const struct thrum__search *search, uint32_t task, uint32_t request)
{
	const struct thrum__model *model = search->model;

	for (int i = 0; i < CHAIN_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		if (thrum__why_are_peers(search, task, request))
			return true;
		if (!THRUM__BEGINS_WITH(model, task, "file "))
			return false;
		task = THRUM__TASK(model, task, creator);
	}
	return false;
}

/* Whether all that ever served an object for a task were callbacks of such requests. Sets *is_served if there
 * were any. */
static bool is_served_by(const struct thrum__search *search, uint32_t object, uint32_t waiter,
	uint32_t request, bool *is_served)
{
	struct thrum__why_servers servers;

	thrum__why_servers_of(search->model, object, waiter, &servers);
	for (unsigned i = 0; i < servers.count; i++)
		if (!follows(search, servers.task[i], request))
			return false;
	*is_served |= servers.count > 0;
	return servers.is_whole;
}

/* The same of the objects like this one for which the last work waited that is like this work, and ended. */
static bool was_left_to(const struct thrum__search *search, uint32_t work, uint32_t object,
	uint32_t request, bool *is_served)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, work);
	uint32_t last = peer ? peer->sample : THRUM__NONE;

	if (!thrum__model_has_row(&model->tasks, last))
		return true;
	THRUM__ACTS_OF (model, last, edge, WAITS_BACK, THRUM__EDGE_WAIT) {
		uint32_t on = THRUM__EDGE(model, edge, to);

		if (!thrum__model_has_row(&model->tasks, on) ||
			!thrum__why_is_alike(search, on, object))
			continue;
		if (!is_served_by(search, on, last, request, is_served))
			return false;
	}
	return true;
}

/* Whether all that served the object of a work's wait were callbacks of such requests. Sets *is_served if
 * there were any. */
static bool is_left_to(const struct thrum__search *search, uint32_t work, uint32_t request,
	bool *is_served)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, work);
	bool is_known = false;

	if (!wait || !thrum__analyse_task_is_object(model, wait->on) ||
		thrum__why_is_lock(search, wait->on))
		return true;
	if (!is_served_by(search, wait->on, work, request, &is_known) ||
		(!is_known && !was_left_to(search, work, wait->on, request, &is_known)))
		return false;
	*is_served |= is_known;
	return true;
}

static bool are_left_to(const struct thrum__search *search, const uint32_t *works, uint32_t count,
	uint32_t request)
{
	bool is_served = false;

	for (uint32_t i = 0; i < count; i++)
		if (!is_left_to(search, works[i], request, &is_served))
			return false;
	return is_served;
}

uint32_t thrum__why_file_behind(const struct thrum__search *search, const uint32_t *works,
	uint32_t count)
{
	const struct thrum__model *model = search->model;
	int64_t since = latest_of(model, works, count);

	if (since < 0)
		return THRUM__NONE;
	THRUM__WHY_EACH (search, task, THRUM__SORT_WANTED | THRUM__SORT_OUTSIDE) {
		int64_t made = THRUM__TASK(model, task, created);

		if (made < since || !thrum__analyse_task_is_pending(model, task) ||
			!THRUM__BEGINS_WITH(model, task, "file "))
			continue;
		/* Those that follow were made later. */
		return model->end - made >= LONG && are_left_to(search, works, count, task)
			? task
			: THRUM__NONE;
	}
	return THRUM__NONE;
}
