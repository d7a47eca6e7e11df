/* SPDX-License-Identifier: ISC */
/*
 * Evidence that a task never ends although nobody marked it as one that should resolve: most
 * programs mark few tasks or none.
 */
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define PEERS_WEAK 8
#define PEERS_STRONG 20
#define PEERS_FEW 4
#define OLD_FEW 100 /* the same if they are few */
#define OLD_WEAK 4  /* so many times as old as the longest life of its peers */
#define OLD_STRONG 10
#define STOPPED_MIN 4    /* tasks, one after the other, of which none ended */
#define OLD_MIN 50000000 /* ns; younger tasks are never suspicious */
#define LONGER 20        /* so many times as long as ever before, a task waits too long */
#define RARE 8           /* of so many peers that ended, one may be old */
#define SIBLINGS_MIN 2
#define LOOK_BACK 1024

/* ---- Peers --------------------------------------------------------------------------------- */

/* Whether tasks of this kind end at all. */
static bool may_end(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return !thrum__analyse_task_is_object(model, task) &&
		!thrum__analyse_task_is_lane(model, task) && kind != THRUM_KIND_HANDLE &&
		kind != THRUM_KIND_TIMER && kind != THRUM_KIND_THREAD;
}

bool thrum__why_is_lasting(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "conn", "client", "session", "socket", "peer",
		       "watch", "subscri", "listen", "worker", "idle", "stream", "loop") ||
		thrum__why_is_inbound(model, task);
}

/* Whether a task is far older than those that ended, and few others are. */
static bool is_old(const struct thrum__search *search, const struct thrum__peer *peer,
	uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t created = THRUM__TASK(model, task, created), age = model->end - created;
	uint32_t rare = peer->ended / RARE > 1 ? peer->ended / RARE : 1;
	bool is_request = THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST;

	/* The last one of a series is the one that waits for the next job. */
	if (age < OLD_MIN || peer->old > rare || (peer->latest[0] <= created && !is_request))
		return false;
	if (peer->ended >= PEERS_WEAK)
		return age / OLD_WEAK > peer->longest;
	return peer->ended >= PEERS_FEW && age / OLD_FEW > peer->longest;
}

/* Whether none ended of several tasks that began after the last of their like that did, far longer ago than
 * these took: their queue goes on no more. */
static bool has_stopped(const struct thrum__model *model, const struct thrum__peer *peer,
	uint32_t task)
{
	int64_t created = THRUM__TASK(model, task, created), age = model->end - created;

	return THRUM__TASK(model, task, kind) == THRUM_KIND_TASK && age >= OLD_MIN &&
		peer->ended >= PEERS_WEAK && peer->old >= STOPPED_MIN &&
		peer->old == peer->pending && peer->latest[0] < created &&
		age / OLD_STRONG > peer->longest;
}

/* Whether nobody made what ended each of those like a task, and it is far older than they became. */
static bool is_forgotten(const struct thrum__search *search, const struct thrum__peer *peer,
	uint32_t task)
{
	int64_t age = search->model->end - THRUM__TASK(search->model, task, created);

	return peer->ended < PEERS_WEAK && search->gap < 0 && age >= OLD_MIN &&
		age / OLD_STRONG > peer->longest && thrum__why_lacks_ender(search, task);
}

int thrum__why_peer_evidence(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task), *family;
	int64_t created = THRUM__TASK(model, task, created);

	if (!peer || !may_end(model, task))
		return THRUM__EVIDENCE_NONE;
	if (is_old(search, peer, task))
		return peer->ended >= PEERS_STRONG &&
				(model->end - created) / OLD_STRONG > peer->longest &&
				peer->latest[THRUM__LATEST - 1] > created &&
				!thrum__why_is_unsure(search, task)
			? THRUM__EVIDENCE_STRONG
			: THRUM__EVIDENCE_WEAK;
	if (has_stopped(model, peer, task) || is_forgotten(search, peer, task))
		return THRUM__EVIDENCE_WEAK;
	family = thrum__why_peers_family(&search->peers, task);
	return peer->ended < PEERS_WEAK && family && is_old(search, family, task)
		? THRUM__EVIDENCE_WEAK
		: THRUM__EVIDENCE_NONE;
}

/* ---- Joins --------------------------------------------------------------------------------- */

/* The evidence that a task which waits for several waits too long for its last ones: the others
 * have ended long ago, after a short life. */
static int sibling_evidence(const struct thrum__model *model, uint32_t task)
{
	uint32_t ended = 0;
	int64_t longest = 0, first = THRUM__OPEN;

	if (thrum__analyse_task_is_choice(model, task))
		return THRUM__EVIDENCE_NONE;
	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int64_t life;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
			!thrum__model_has_row(&model->tasks, to) || !may_end(model, to))
			continue;
		if (THRUM__EDGE(model, edge, time) < first)
			first = THRUM__EDGE(model, edge, time);
		to = thrum__model_heir(model, to);
		if (thrum__analyse_task_is_pending(model, to))
			continue;
		ended++;
		life = THRUM__TASK(model, to, end) - THRUM__EDGE(model, edge, time);
		longest = life > longest ? life : longest;
	}
	if (ended < SIBLINGS_MIN || first == THRUM__OPEN ||
		THRUM__TASK(model, task, kind) != THRUM_KIND_JOIN ||
		(model->end - first) / OLD_STRONG <= longest)
		return THRUM__EVIDENCE_NONE;
	return THRUM__EVIDENCE_STRONG;
}

/* ---- An end that isn't known --------------------------------------------------------------- */

/* Whether at least two of the tasks that a join waits for began later than this one, and all the
 * others have ended. */
static bool is_overtaken_sibling(const struct thrum__search *search, uint32_t join, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t later = 0;

	if (THRUM__TASK(model, join, kind) != THRUM_KIND_JOIN ||
		thrum__analyse_graph_waits(&search->graph, join).count != 1)
		return false;
	THRUM__EDGES_FROM (model, join, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		later += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, to) && may_end(model, to) &&
			THRUM__TASK(model, to, created) > THRUM__TASK(model, task, created);
	}
	return later >= SIBLINGS_MIN;
}

/* Whether peers that began later have ended, and none of them lived longer. */
static bool is_overtaken_peer(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	int64_t created = THRUM__TASK(model, task, created);

	return peer && may_end(model, task) && peer->ended >= PEERS_STRONG &&
		peer->latest[THRUM__LATEST - 1] > created && model->end - created > peer->longest &&
		peer->pending <= peer->ended / PEERS_STRONG;
}

bool thrum__why_is_overtaken(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;

	/* An answer from outside may just be on its way. */
	if (!search->is_open || path->is_unknown || path->circle != THRUM__NONE ||
		path->length == 0 || thrum__why_ends_by_itself(model, path->leaf) ||
		thrum__analyse_task_is_object(model, path->leaf) ||
		thrum__analyse_task_is_running(model, path->leaf))
		return false;
	for (uint32_t i = 0; i < path->length; i++) {
		const struct thrum__why_link *link = &path->links[i];

		if (!link->is_served &&
			is_overtaken_sibling(search, link->task,
				i + 1 < path->length ? path->links[i + 1].task : path->leaf))
			return true;
	}
	return is_overtaken_peer(search, path->leaf);
}

/* ---- The path ------------------------------------------------------------------------------ */

/* Whether a link leads to who always ended the like of its task, which is far older than these became: so it
 * doesn't just wait for the next event. */
static bool is_kept(const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, link->task);
	int64_t age = model->end - THRUM__TASK(model, link->task, created);

	return link->is_served && link->is_steady && peer && age >= OLD_MIN &&
		(peer->ended >= PEERS_WEAK
				? age / OLD_STRONG > peer->longest
				: peer->ended >= PEERS_FEW && age / OLD_FEW > peer->longest);
}

/* The strongest evidence by peers among the path's tasks. */
static int path_peer_evidence(const struct thrum__search *search,
	const struct thrum__why_path *path, uint32_t *subject)
{
	int best = THRUM__EVIDENCE_NONE;

	for (uint32_t i = 0; i <= path->length; i++) {
		uint32_t task = i < path->length ? path->links[i].task : path->leaf;
		int evidence = thrum__why_peer_evidence(search, task);

		if (evidence == THRUM__EVIDENCE_NONE && i < path->length &&
			is_kept(search, &path->links[i]))
			evidence = THRUM__EVIDENCE_WEAK;
		/* A task that nobody waits for, and that itself waits for nothing, may have been
		 * made to last. */
		if (evidence != THRUM__EVIDENCE_NONE && path->length == 0 &&
			thrum__why_is_lasting(search->model, task))
			evidence = THRUM__EVIDENCE_NONE;
		if (evidence > best) {
			best = evidence;
			*subject = task;
		}
	}
	return best;
}

/* Counts those who waited for a task and were served. Sets *longest to the longest of these waits, if that is
 * longer. */
static uint32_t count_served(const struct thrum__model *model, uint32_t server, int64_t *longest)
{
	uint32_t count = 0;

	THRUM__EDGES_TO (model, server, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);
		int64_t took;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
			!thrum__model_has_row(&model->tasks, from) ||
			thrum__analyse_task_is_pending(model, from))
			continue;
		took = THRUM__TASK(model, from, end) - THRUM__EDGE(model, edge, time);
		*longest = took > *longest ? took : *longest;
		count++;
	}
	return count;
}

/* Whether a task stands for a call that waits for the next event of the outside: nothing may happen
 * there for long, and those who are then told of it have nothing to do. */
static bool is_call_for_outside(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE &&
		thrum__why_is_in_call(model, task);
}

/* Whether a thread that serves others waits for its next job, and so does another one of its pool: each by a
 * condition of its own, or all by one. There is nothing to do, for however long. */
static bool is_idle_pool(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (!last[-1].is_served || !thrum__why_is_idle_worker(search, path))
		return false;
	THRUM__WHY_EACH (search, task, THRUM__SORT_ACTED) {
		struct thrum__analyse_waits waits;

		if (task == last->task || !thrum__why_is_alike(search, task, last->task))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count > 0 &&
			(waits.waits[0].on == path->leaf ||
				thrum__why_is_alike(search, waits.waits[0].on, path->leaf)) &&
			model->end - waits.waits[0].since >= (model->end - last->wait.since) / 2)
			return true;
	}
	return false;
}

bool thrum__why_is_longest_wait(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t longest = 0, until = -1;
	uint32_t edge, count = 0;

	if (path->length < 2 || !thrum__why_is_for_server(model, &last[-1]) ||
		(last[-1].is_served && is_call_for_outside(model, path->leaf)))
		return false;
	edge = THRUM__TASK(model, last->task, edge_out);
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int64_t time = THRUM__EDGE(model, edge, time);

		if (!thrum__model_has_row(&model->tasks, to) ||
			(to != path->leaf && !thrum__why_is_alike(search, to, path->leaf)))
			continue;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ) {
			until = time;
		} else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && until >= 0) {
			longest = until - time > longest ? until - time : longest;
			count++;
			until = -1;
		}
	}
	/* Few of a server's waits are recorded if its clients are fast. */
	if (count < PEERS_FEW)
		count += count_served(model, last->task, &longest);
	return count >= PEERS_FEW && (model->end - last->wait.since) / LONGER > longest &&
		!is_idle_pool(search, path);
}

/* Whether some task of a path may wait for as long as somebody outside likes. */
static bool may_last(const struct thrum__model *model, const struct thrum__why_path *path)
{
	for (uint32_t i = 0; i < path->length; i++)
		if (thrum__why_is_lasting(model, path->links[i].task) ||
			thrum__analyse_task_is_lane(model, path->links[i].task))
			return true;
	return thrum__why_is_lasting(model, path->leaf) ||
		thrum__analyse_task_is_lane(model, path->leaf);
}

/* Whether a task is the program's first thread. Nobody but the program gives that a job. */
static bool is_first_thread(const struct thrum__model *model, uint32_t task)
{
	return model->lane_count > 0 && model->lanes[0].task == task;
}

/* Whether the path leads to something that the program itself must end, and its victim is more than a
 * worker that waits for its next job. */
static bool is_bound(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;

	return path->length > 0 && !thrum__why_ends_by_itself(model, path->leaf) &&
		!(thrum__why_is_idle_worker(search, path) && path->length == 1 &&
			!(search->is_dead && is_first_thread(model, path->links[0].task)));
}

/* Whether a thread is blocked in a call that asks another machine, and gets no answer for long. */
static bool is_unanswered_call(const struct thrum__model *model, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	return last && THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST &&
		thrum__analyse_task_is_lane(model, last->task) &&
		model->end - last->wait.since >= THRUM__SOON_OUTSIDE &&
		THRUM__BEGINS_WITH(model, path->leaf, "connect to ", "look up ");
}

/* Whether it is known that the leaf never comes, however young the wait for it is. */
static bool is_broken(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	bool is_handle = THRUM__TASK(search->model, path->leaf, kind) == THRUM_KIND_HANDLE;

	return path->tries > 0 || thrum__why_is_broken_timer(search, path) ||
		((!last || is_handle) &&
			thrum__why_dropped(search, path->leaf).task != THRUM__NONE) ||
		(!last && thrum__why_last_open(search, path->leaf) != THRUM__NONE);
}

/* Whether others wait behind a wait for a condition that was signalled in vain before it began, or whose last
 * signal woke another task, which waits again. */
static bool has_lost_signal(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_wake wake;

	if (THRUM__TASK(search->model, path->leaf, kind) != THRUM_KIND_CONDITION ||
		path->length < 2)
		return false;
	return thrum__why_lost_signal(search->model, path->leaf, last->task, last->wait.since) !=
		THRUM__NONE ||
		(thrum__why_single_wake(search, path->leaf, last->task, last->wait.since, &wake) &&
			wake.again != THRUM__NONE);
}

/* Whether the program fell silent though nobody outside has a say in the path's waits. */
static bool is_silent(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);

	return search->is_silent && !thrum__analyse_task_is_object(search->model, path->leaf) &&
		!may_last(search->model, path) &&
		!(lock && thrum__why_may_be_released(search, lock));
}

/* The evidence of the locks, tasks and objects of a path. */
static int waits_evidence(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t *subject)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	bool is_outside = thrum__why_ends_by_itself(model, path->leaf);
	int evidence = thrum__why_lock_evidence(search, path);

	if (evidence == THRUM__EVIDENCE_NONE &&
		((is_outside && thrum__why_is_inbound(model, path->leaf)) ||
			(last && thrum__why_is_inbound(model, last->task))))
		return evidence;
	evidence = thrum__why_stronger(evidence, path_peer_evidence(search, path, subject));
	for (uint32_t i = 0; i < path->length && !is_outside; i++)
		evidence = thrum__why_stronger(evidence,
			sibling_evidence(model, path->links[i].task));
	if (last && thrum__analyse_task_is_object(model, path->leaf) &&
		!thrum__why_is_lock(search, path->leaf))
		evidence = thrum__why_stronger(evidence, thrum__why_object_evidence(search, path));
	if (last && thrum__why_expects_more(model, last))
		evidence = thrum__why_stronger(evidence, THRUM__EVIDENCE_WEAK);
	if (is_bound(search, path) &&
		(has_lost_signal(search, path) || is_silent(search, path) || search->is_dead))
		evidence = thrum__why_stronger(evidence, THRUM__EVIDENCE_WEAK);
	return evidence;
}

int thrum__why_evidence(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t *subject)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t since = last ? thrum__why_waits_since(model, last)
			     : THRUM__TASK(model, path->leaf, created);
	const struct thrum__lost *lost;

	*subject = path->victim;
	if (is_broken(search, path))
		return THRUM__EVIDENCE_WEAK;
	if (search->is_deadlocked && is_bound(search, path))
		return THRUM__EVIDENCE_STRONG;
	if (model->end - since < THRUM__WHY_WAIT_MIN)
		return THRUM__EVIDENCE_NONE;
	if (path->circle != THRUM__NONE)
		return path->is_closed ? THRUM__EVIDENCE_WEAK : THRUM__EVIDENCE_STRONG;
	if (thrum__why_covers_loop(model, path->leaf))
		return THRUM__EVIDENCE_STRONG;
	lost = thrum__why_lost_of(search, path);
	if (lost)
		return lost->wait == THRUM__NONE ? THRUM__EVIDENCE_STRONG : THRUM__EVIDENCE_WEAK;
	if (is_unanswered_call(model, path) || thrum__why_is_longest_wait(search, path) ||
		thrum__why_last_timer(search, path) != THRUM__NONE)
		return THRUM__EVIDENCE_WEAK;
	return waits_evidence(search, path, subject);
}
