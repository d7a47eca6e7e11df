/* SPDX-License-Identifier: ISC */
/*
 * Tells who is to serve an object that nobody has served so far: programs make such objects, and those that
 * serve them, anew for each job. Names with the same words or numbers tell it for streams and mailboxes. A
 * thread begins others, and waits for each until it signals: so the latest of them is to signal next.
 */
#include "analyse/why/stuck/stuck.h"

#define LIKE_MIN 2 /* objects that the latest thread signalled each time */

static bool find_latest_thread(struct thrum__search *search, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	uint32_t latest = THRUM__NONE, count = 0;

	if (!thrum__why_is_untouched(model, object) ||
		!thrum__why_spend(search, model->tasks.count))
		return false;
	THRUM__EACH_TASK (model, task) {
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
			THRUM__TASK(model, task, creator) == waiter) {
			latest = task;
		} else if (task != object && thrum__analyse_task_is_object(model, task) &&
			thrum__why_is_alike(search, task, object) &&
			!thrum__why_is_untouched(model, task)) {
			if (thrum__why_actor_to(model, task, THRUM__EDGE_SIGNAL) != latest ||
				latest == THRUM__NONE)
				return false;
			count++;
		}
	}
	*servers = (struct thrum__why_servers){.task[0] = latest,
		.edge[0] = THRUM__NONE,
		.count = 1,
		.is_whole = true};
	return count >= LIKE_MIN && thrum__analyse_task_is_pending(model, latest);
}

bool thrum__why_find_successor(struct thrum__search *search, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	int kind = THRUM__TASK(model, object, kind);
	uint32_t like = THRUM__NONE, found = THRUM__NONE;
	bool is_full = thrum__why_edge_to(model, object, THRUM__EDGE_SIGNAL) != THRUM__NONE;
	bool is_numbered;

	if (kind == THRUM_KIND_CONDITION || kind == THRUM_KIND_SEMAPHORE)
		return find_latest_thread(search, object, waiter, servers);
	if ((kind != THRUM_KIND_STREAM && kind != THRUM_KIND_MAILBOX) || !servers->is_whole ||
		!thrum__why_spend(search, model->tasks.count))
		return false;
	THRUM__EACH_TASK (model, task) {
		if (task == object || !thrum__why_are_peers(search, task, object))
			continue;
		like = task;
		/* Where only the waiter put something in, others are to take it. */
		thrum__why_servers_of(model, task,
			is_full ? thrum__why_actor_to(model, task, THRUM__EDGE_SIGNAL)
				: THRUM__NONE,
			servers);
		if (servers->count > 0)
			break;
	}
	if (servers->count != 1 || !*thrum__model_task_name(model, servers->task[0], NULL))
		return false;
	is_numbered = thrum__why_number_of(model, like) ==
		thrum__why_number_of(model, servers->task[0]);
	THRUM__EACH_TASK (model, task)
		if (thrum__analyse_task_is_pending(model, task) &&
			thrum__why_are_named_alike(model, servers->task[0], task) &&
			(!is_numbered ||
				thrum__why_number_of(model, task) ==
					thrum__why_number_of(model, object))) {
			servers->count = found == THRUM__NONE;
			found = task;
		}
	servers->task[0] = found;
	servers->edge[0] = THRUM__NONE;
	return servers->count == 1 && found != THRUM__NONE;
}
