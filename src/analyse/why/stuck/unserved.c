/* SPDX-License-Identifier: ISC */
/* Evidence that nobody serves an object any more, or that nobody releases a lock. */
#include "analyse/why/stuck/stuck.h"

#define AGAIN 3        /* waits for the same object that show a worker which takes job after job */
#define LOOK_BACK 1024 /* edges of a lock that are searched, from the latest back */
#define SIGNALS_MIN 3  /* signals that show for what an object is */

/* ---- Objects ------------------------------------------------------------------------------- */

bool thrum__why_is_idle_worker(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	return last && thrum__analyse_task_is_object(model, path->leaf) &&
		!thrum__why_is_lock(search, path->leaf) &&
		thrum__why_waits_on(model, last->task, path->leaf) >= AGAIN;
}

/* When the last of those ended that served an object. */
static int64_t last_end_of(const struct thrum__model *model,
	const struct thrum__why_servers *servers)
{
	int64_t last = -1;

	for (unsigned i = 0; i < servers->count; i++)
		if (THRUM__TASK(model, servers->task[i], end) > last)
			last = THRUM__TASK(model, servers->task[i], end);
	return last;
}

/* Whether a task waits for an object since before the last of those ended that served it, and of their like
 * one or more ended without doing so. */
static bool is_deserted(struct thrum__search *search, const struct thrum__why_path *path,
	const struct thrum__why_servers *servers)
{
	struct thrum__why_deserters found = thrum__why_deserters_of(search, path->leaf, servers);

	return found.count > 0 && thrum__why_path_last(path)->wait.since < found.last &&
		search->model->end - found.last >= THRUM__WHY_WAIT_MIN;
}

/* Whether some of those that served an object have peers that ended, too: such tasks follow one another. Or
 * they did so before a wait began, and have peers that may do it next. */
static bool are_replaced(const struct thrum__search *search,
	const struct thrum__why_servers *servers, int64_t since)
{
	for (unsigned i = 0; i < servers->count; i++) {
		const struct thrum__peer *peer = thrum__why_peers_of(&search->peers,
			servers->task[i]);

		if (peer &&
			(peer->ended > 1 ||
				(peer->pending > 0 &&
					THRUM__EDGE(search->model, servers->edge[i], time) <
						since)))
			return true;
	}
	return false;
}

/* Whether all that could serve an object wait for it themselves. */
static bool serves_itself(const struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers)
{
	unsigned first;

	return servers->is_whole && servers->pending > 0 &&
		thrum__why_able_servers(search, object, servers, &first) == 0;
}

/* Whether an object was signalled again and again, and no wait for it has ever ended: so those who wait take
 * no jobs there. */
static bool was_never_awaited(const struct thrum__model *model, uint32_t object)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in), signals = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ)
			return false;
		signals += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL;
	}
	return edge == THRUM__NONE && signals >= SIGNALS_MIN;
}

int thrum__why_object_evidence(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_servers servers;
	struct thrum__why_unreplied unreplied;
	struct thrum__why_wake wake;
	uint32_t absent[THRUM__ABSENT_MAX];
	unsigned missing = thrum__why_absent(search, path->leaf, last->task, absent);
	bool is_awaited = path->length > 1;

	for (unsigned i = 0; i < missing; i++)
		if (!thrum__analyse_task_is_pending(model, absent[i]))
			return THRUM__EVIDENCE_STRONG;
	if (thrum__why_voice_for(model, path) != THRUM__NONE)
		return THRUM__EVIDENCE_WEAK;
	thrum__why_servers_of(model, path->leaf, last->task, &servers);
	if (serves_itself(search, path->leaf, &servers)) {
		if (search->is_dead)
			return THRUM__EVIDENCE_STRONG;
		/* Others do nothing for them but look how things stand. */
		if ((servers.pending > 1 || was_never_awaited(model, path->leaf)) &&
			!thrum__why_is_idle_worker(search, path) &&
			thrum__why_all_look(search, last->task, last->wait.since))
			return THRUM__EVIDENCE_WEAK;
	}
	/* Others do nothing for them but look how things stand. */
	if ((thrum__why_unheard_call(search, path, &wake) &&
		    thrum__why_all_look(search, last->task, last->wait.since)) ||
		thrum__why_lacks_room(search, path, &servers) ||
		thrum__why_is_at_standstill(search, last) ||
		thrum__why_own_turn(search, path) != THRUM__NONE ||
		thrum__why_add_own_queue(NULL, search, path) ||
		thrum__why_add_unarmed(NULL, search, last, &servers) ||
		thrum__why_not_again(search, last, &servers).kind >= 0 ||
		thrum__why_not_sent_again(search, last, &servers).task != THRUM__NONE ||
		thrum__why_no_pair_reply(search, last, &unreplied))
		return THRUM__EVIDENCE_WEAK;
	if (servers.count == 0 || servers.pending > 0 || !servers.is_whole)
		return THRUM__EVIDENCE_NONE;
	if (is_deserted(search, path, &servers) || thrum__why_have_ceased(search, path, &servers) ||
		thrum__why_breaks_off(search, path, &servers))
		return THRUM__EVIDENCE_WEAK;
	/* The program exits as soon as its last server has ended: the waiter was needed till then. */
	if (!is_awaited && model->ending == THRUM_ENDING_EXITED &&
		thrum__why_is_recent(model, last_end_of(model, &servers)))
		return THRUM__EVIDENCE_NONE;
	if (!search->is_dead && are_replaced(search, &servers, last->wait.since))
		return THRUM__EVIDENCE_NONE;
	/* A worker without a job hangs since others do, once those that gave it jobs are done. */
	if (search->is_dead && thrum__why_is_idle_worker(search, path) && !is_awaited)
		return THRUM__EVIDENCE_WEAK;
	if (is_awaited || search->is_dead)
		return THRUM__EVIDENCE_STRONG;
	return thrum__why_waits_on(model, last->task, path->leaf) < AGAIN ? THRUM__EVIDENCE_WEAK
									  : THRUM__EVIDENCE_NONE;
}

/* ---- Locks --------------------------------------------------------------------------------- */

/* Whether a semaphore was neither taken nor released ever since, and nobody waits for the task that waits
 * for it: it tells the task when there is something to do, and nothing was. */
static bool is_idle_semaphore(const struct thrum__model *model, const struct thrum__why_path *path,
	const struct thrum__analyse_lock *lock)
{
	return path->length == 1 && THRUM__TASK(model, lock->task, kind) == THRUM_KIND_SEMAPHORE &&
		lock->count == 0 && lock->last < 0 && lock->released == 0 && lock->strange == 0 &&
		!lock->is_cut;
}

/* Whether nobody has a permit of a semaphore, and some who had none posted it: it counts events. */
static bool is_counter(const struct thrum__model *model, const struct thrum__analyse_lock *lock)
{
	return THRUM__TASK(model, lock->task, kind) == THRUM_KIND_SEMAPHORE && lock->count == 0 &&
		lock->strange > 0;
}

/* Whether a thread's loop began to wait for work between two times. */
static bool has_waited_for_work(const struct thrum__model *model, uint32_t lane, int64_t from,
	int64_t to)
{
	uint32_t row = model->suspensions.count;

	while (row-- > model->suspensions.first && thrum__model_has_row(&model->suspensions, row) &&
		THRUM__SUSPENSION(model, row, start) > from)
		if (THRUM__SUSPENSION(model, row, lane) == lane &&
			THRUM__SUSPENSION(model, row, start) < to &&
			thrum__why_rests_for(model, row, THRUM__REASON_WORK))
			return true;
	return false;
}

/* Whether a lock lets another thread rest until there is work: its holder keeps it while its loop waits for
 * work, as it did before, and then released it. */
static bool is_gate(const struct thrum__model *model, const struct thrum__analyse_lock *lock)
{
	uint32_t holder = lock->holds[0].task;
	int64_t until = THRUM__OPEN;

	if (!thrum__model_has_row(&model->tasks, holder))
		return false;
	THRUM__EDGES_TO (model, lock->task, edge, LOOK_BACK) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, from) != holder)
			continue;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_UNLOCK) {
			until = time;
		} else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK) {
			bool is_now = until == THRUM__OPEN,
			     has_waited = has_waited_for_work(model,
				     THRUM__TASK(model, holder, lane), time, until);

			if (is_now != has_waited)
				return has_waited;
		}
	}
	return false;
}

bool thrum__why_may_be_released(const struct thrum__search *search,
	const struct thrum__analyse_lock *lock)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < lock->count; i++) {
		uint32_t task = lock->holds[i].task;
		struct thrum__analyse_waits waits;

		if (!thrum__analyse_task_is_pending(model, task))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count > 0 && thrum__why_is_in_call(model, waits.waits[0].on) &&
			(THRUM__TASK(model, waits.waits[0].on, kind) != THRUM_KIND_TIMER ||
				thrum__why_due_of(model, waits.waits[0].on) >= model->end))
			return true;
	}
	return false;
}

int thrum__why_lock_evidence(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	int evidence = THRUM__EVIDENCE_NONE;

	for (uint32_t i = 0; i < path->length; i++) {
		const struct thrum__analyse_wait *wait = &path->links[i].wait;
		const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
			wait->on);

		if (path->links[i].is_served || !lock || lock->busy > wait->since ||
			(lock->count == 0 && model->end - lock->last < THRUM__WHY_WAIT_MIN) ||
			is_idle_semaphore(model, path, lock) || is_counter(model, lock) ||
			(wait->next == THRUM__NONE && thrum__why_may_be_released(search, lock)) ||
			(i + 1 < path->length && !thrum__why_is_lock(search, wait->on)))
			continue;
		if (wait->next == THRUM__NONE)
			/* Held by a task that has ended, or free for long. */
			evidence = thrum__why_stronger(evidence,
				thrum__analyse_lock_lost(model, lock) && lock->strange == 0
					? THRUM__EVIDENCE_STRONG
					: THRUM__EVIDENCE_WEAK);
		else if (lock->count == 1 && thrum__why_is_held_long(model, wait->on) &&
			!is_gate(model, lock))
			evidence = THRUM__EVIDENCE_STRONG;
	}
	return evidence;
}
