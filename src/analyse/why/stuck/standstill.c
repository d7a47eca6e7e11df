/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a thread waits to be told of work that it gave to others, while these wait for more work of
 * it: so one of them left something out. Threads that come round, such as one that counts what is in the
 * queue, change nothing in that.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* edges of a thread that are searched for a lock, from the latest back */

/* When a thread took a lock last; -1: not since a time, or that isn't known. */
static int64_t last_taken(const struct thrum__model *model, uint32_t thread, uint32_t lock,
	int64_t since)
{
	THRUM__ACTS_OF (model, thread, edge, LOOK_BACK, THRUM__EDGE_LOCK) {
		if (THRUM__EDGE(model, edge, time) < since)
			return -1;
		if (THRUM__EDGE(model, edge, to) == lock)
			return THRUM__EDGE(model, edge, time);
	}
	return -1;
}

/* The object for which a blocked thread waits, or NONE. */
static uint32_t object_of(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, thread);

	return wait && thrum__analyse_task_is_object(model, wait->on) &&
			thrum__why_is_blocked(model, thread, wait)
		? wait->on
		: THRUM__NONE;
}

/* Whether a thread waits for a condition or semaphore that only this giver serves, and those who wait for it,
 * too: workers may give each other work. */
static bool wants_work_of(const struct thrum__search *search, uint32_t thread, uint32_t giver)
{
	const struct thrum__model *model = search->model;
	uint32_t object = object_of(search, thread);
	struct thrum__why_servers servers;
	bool is_given = false;

	if (object == THRUM__NONE)
		return false;
	thrum__why_servers_of(model, object, thread, &servers);
	for (unsigned i = 0; i < servers.count; i++) {
		uint32_t server = thrum__why_heir_of(model, servers.task[i]);

		if (!thrum__analyse_task_is_pending(model, servers.task[i]))
			continue;
		if (server != giver && object_of(search, server) != object)
			return false;
		is_given |= server == giver;
	}
	return servers.is_whole && is_given;
}

/* Whether nobody ever signalled the condition, or none but those who now want work of the one that waits. */
static bool is_for_workers(const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_servers servers;

	if (thrum__why_is_untouched(model, link->wait.on))
		return true;
	thrum__why_servers_of(model, link->wait.on, link->task, &servers);
	for (unsigned i = 0; i < servers.count; i++)
		if (thrum__analyse_task_is_pending(model, servers.task[i]) &&
			!wants_work_of(search, thrum__why_heir_of(model, servers.task[i]),
				link->task))
			return false;
	return servers.is_whole && servers.pending > 0;
}

bool thrum__why_is_at_standstill(struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	uint32_t own = thrum__why_last_lane(model, link->task);
	uint32_t lock = thrum__why_lock_of_condition(model, link->wait.on);
	int64_t last = -1;
	bool is_round = false;

	if (THRUM__TASK(model, link->task, kind) != THRUM_KIND_THREAD || search->gap >= 0 ||
		thrum__why_is_polite(model) || lock == THRUM__NONE || own >= model->lane_count ||
		!is_for_workers(search, link))
		return false;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < model->lane_count; i++) {
			const struct thrum__lane *lane = &model->lanes[i];
			uint32_t thread = thrum__why_thread_of(model, lane);
			bool is_blocked = thrum__why_is_lane_stuck(search, lane);

			if (i == own || lane->process != model->lanes[own].process ||
				!thrum__analyse_task_is_pending(model, thread))
				continue;
			if (pass == 0 && is_blocked && wants_work_of(search, thread, link->task)) {
				int64_t taken = last_taken(model, thread, lock, link->wait.since);

				last = taken > last ? taken : last;
			} else if (pass == 1 && !is_blocked) {
				if (last < 0 || !thrum__why_comes_round(search, lane, last))
					return false;
				is_round = true;
			}
		}
	return last >= 0 && is_round;
}
