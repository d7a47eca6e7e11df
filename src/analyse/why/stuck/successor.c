/* SPDX-License-Identifier: ISC */
/*
 * Tells who is to serve an object that nobody has served so far: programs make such objects, and those that
 * serve them, anew for each job. Names with the same words or numbers tell it for streams and mailboxes. A
 * thread begins others, and waits for each until it signals: so the latest of them is to signal next. A pair
 * of sockets has two directions: the one that takes from one of them is to write to the other.
 */
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define LIKE_MIN 2     /* objects that the latest thread signalled each time */
#define MESSAGES_MIN 3 /* so many show who writes to a socket */
#define LOOK_BACK 1024 /* edges to a task, from the latest back */

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

/* The only task that sent messages to another one, or NONE. Sets *last to the edge of the latest. */
static uint32_t only_sender(const struct thrum__model *model, uint32_t task, uint32_t *last)
{
	uint32_t sender = THRUM__NONE, count = 0;

	*last = THRUM__NONE;
	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_LINK) {
		if (count++ > 0 && THRUM__EDGE(model, edge, from) != sender)
			return THRUM__NONE;
		sender = THRUM__EDGE(model, edge, from);
		*last = *last == THRUM__NONE ? edge : *last;
	}
	return count >= MESSAGES_MIN ? thrum__why_known(model, sender) : THRUM__NONE;
}

/* Whether two streams are the directions of one pair of sockets: “socket 3 to 4” and “socket 4 to 3”. */
static bool are_directions(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	const char *of_a = thrum__model_task_name(model, a, NULL);
	const char *of_b = thrum__model_task_name(model, b, NULL);
	const char *to_a = strstr(of_a, " to "), *to_b = strstr(of_b, " to ");
	const size_t word = strlen("socket ");

	if (!THRUM__BEGINS_WITH(model, a, "socket ") || !THRUM__BEGINS_WITH(model, b, "socket ") ||
		!to_a || !to_b)
		return false;
	return strlen(to_a + 4) == (size_t)(to_b - of_b) - word &&
		strlen(to_b + 4) == (size_t)(to_a - of_a) - word &&
		strncmp(to_a + 4, of_b + word, (size_t)(to_b - of_b) - word) == 0 &&
		strncmp(to_b + 4, of_a + word, (size_t)(to_a - of_a) - word) == 0;
}

/* Whether all threads of a program but two are blocked, or come round and do nothing for others. */
static bool rest_all_but(struct thrum__search *search, uint32_t a, uint32_t b, int64_t since)
{
	const struct thrum__model *model = search->model;

	THRUM__EACH_LANE (model, lane) {
		uint32_t thread = thrum__why_thread_of(model, lane);

		if (thread != a && thread != b && thrum__analyse_task_is_pending(model, thread) &&
			!thrum__why_is_lane_stuck(search, lane) &&
			!thrum__why_ticks(search, lane, since))
			return false;
	}
	return true;
}

bool thrum__why_find_far_end(struct thrum__search *search, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *own, *other;
	uint32_t sender, last;

	if (THRUM__TASK(model, object, kind) != THRUM_KIND_STREAM || model->is_joined ||
		thrum__why_is_polite(model) || !servers->is_whole)
		return false;
	own = thrum__why_wait_of(search, waiter);
	sender = only_sender(model, waiter, &last);
	other = sender == THRUM__NONE ? NULL : thrum__why_wait_of(search, sender);
	if (!own || own->on != object || !other || !are_directions(model, object, other->on) ||
		!thrum__why_lost_limit(search, waiter) ||
		!rest_all_but(search, waiter, sender, own->since))
		return false;
	*servers = (struct thrum__why_servers){.task[0] = sender,
		.edge[0] = last,
		.count = 1,
		.pending = 1,
		.is_whole = true};
	return true;
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
