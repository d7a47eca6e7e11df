/* SPDX-License-Identifier: ISC */
/*
 * Judges a path: whether all may be well, and else how certain it is that the leaf is the cause. A path whose
 * lock is withheld, or whose object is left out, ends there.
 */
#include "analyse/why/stuck/stuck.h"
#include "analyse/why/unusual/unusual.h"

#define FEW_ANSWERS 2     /* so many from outside don't tell how long the next one takes */
#define PAUSED 1000000000 /* ns; in a wait of that length, no pause counts */
#define NEW_EVENTS 6 /* of a thread that did nothing so far: it was made, got its names, and runs */

/* If the leaf is a handle on which a request waits, makes that request the leaf. */
static void shorten_path(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (last && path->reached == THRUM__NONE && path->circle == THRUM__NONE &&
		THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_HANDLE &&
		THRUM__TASK(model, last->task, kind) == THRUM_KIND_REQUEST) {
		path->handle = path->leaf;
		thrum__why_path_cut(search, path, path->length - 1);
	}
}

bool thrum__why_is_young(const struct thrum__search *search, uint32_t task)
{
	uint32_t heir = thrum__model_heir(search->model, task);

	return thrum__why_peers_is_young(&search->peers, task) ||
		(heir != task && thrum__why_peers_is_young(&search->peers, heir));
}

/* Whether nothing like the path's leaf, or else its victim, has ended, and the wait for the leaf is so
 * young that this tells nothing. Nor do two answers that came from outside. */
static bool is_too_soon(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__peer *victims = thrum__why_peers_of(&search->peers, path->victim);
	const struct thrum__peer *leaves = thrum__why_peers_of(&search->peers, path->leaf);
	bool is_outside = THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST;
	int64_t since = last && !last->is_served ? thrum__why_waits_since(model, last)
						 : THRUM__TASK(model, path->leaf, created);

	return !search->is_dead && !search->is_deadlocked &&
		!(leaves && leaves->ended > (is_outside ? FEW_ANSWERS : 0)) &&
		!(victims && victims->ended > 0 && !is_outside) &&
		thrum__why_is_too_soon(model, model->end - since, is_outside);
}

/* The longest pause in the life of a task which would be no older than its like became, but for that; or
 * NULL. */
static const struct thrum__why_pause *find_pause(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	int64_t created = THRUM__TASK(model, task, created), age = model->end - created;

	if (!peer || peer->ended == 0 || age >= PAUSED)
		return NULL;
	for (unsigned i = 0; i < search->pauses.count; i++) {
		const struct thrum__why_pause *pause = &search->pauses.all[i];
		int64_t from = created > pause->from ? created : pause->from;

		if (from < pause->to)
			return age - (pause->to - from) <= 2 * peer->longest ? pause : NULL;
	}
	return NULL;
}

/* The pause of the machine, as it seems, while an answer was on its way: it did nothing else, either. Where
 * nothing ran at all, all may as well wait for the one that is missing, unless that comes from outside. NULL:
 * there is none. */
static const struct thrum__why_pause *pause_of(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	int kind = THRUM__TASK(model, path->leaf, kind);
	const struct thrum__why_pause *pause;

	if (path->is_unknown || path->circle != THRUM__NONE ||
		thrum__analyse_task_is_object(model, path->leaf) || search->is_deadlocked)
		return NULL;
	pause = find_pause(search, path->leaf);
	return pause &&
			(pause->is_at_work || kind == THRUM_KIND_REQUEST ||
				kind == THRUM_KIND_TIMER || kind == THRUM_KIND_HANDLE)
		? pause
		: NULL;
}

/* Whether a task was made ready so late that a thread may just have been woken for it. */
static bool is_waking(const struct thrum__model *model, uint32_t task)
{
	int64_t age;

	if (!thrum__why_is_said_ready(model, task))
		return false;
	age = model->end -
		THRUM__EDGE(model, thrum__why_edge_to(model, task, THRUM__EDGE_READY), time);
	return age < THRUM__WAKING && thrum__why_is_too_soon(model, age, false);
}

/* Whether a task ran so lately that its next turn, for which it is ready, may yet come. */
static bool has_next_turn(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) && thrum__why_is_said_ready(model, task) &&
		model->end - THRUM__RUN(model, run, end) < PAUSED;
}

/* Whether a marked task has tried so often in vain that it tells nothing how young its latest try is. */
static bool has_tried_in_vain(struct thrum__search *search, struct thrum__why_path *path)
{
	return path->is_marked && !thrum__why_is_excused(search, path) && path->tries > 0;
}

/* Whether all may be well. Sets path->unjudged. */
static bool may_be_well(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__why_pause *pause;

	if (thrum__why_is_young(search, path->victim))
		return true;
	path->is_soon = is_too_soon(search, path);
	pause = pause_of(search, path);
	/* Where nobody noted when the program ended, a lock may yet be lost for good, and all may have waited
	 * for each other. */
	if (is_waking(search->model, path->leaf) || has_next_turn(search->model, path->leaf) ||
		(pause && (pause->is_at_work || !path->is_marked)) ||
		(path->is_soon && !search->is_stranded &&
			(search->model->ending != THRUM_ENDING_GONE ||
				!thrum__why_is_lock_lost(search, path->leaf)))) {
		if (!has_tried_in_vain(search, path))
			path->unjudged = THRUM__UNJUDGED_TOO_SOON;
		path->is_soon = true;
		return path->unjudged >= 0;
	}
	path->is_soon |= pause != NULL;
	if (!thrum__why_is_excused(search, path))
		return false;
	if (path->is_unknown)
		path->unjudged = THRUM__UNJUDGED_PARTLY_KNOWN;
	return true;
}

/* If the path's lock is withheld, makes the holder the leaf: its latest sleep is not to blame. Returns
 * whether it is. */
static bool end_at_holder(struct thrum__search *search, struct thrum__why_path *path, bool is_stuck)
{
	uint32_t at, keeper = thrum__why_kept_by(search, path, is_stuck, &at);

	if (keeper != THRUM__NONE) {
		*thrum__cause(search, path->leaf) = THRUM__CAUSE_HEALTHY;
		for (; path->length > at + 1; path->length--)
			*thrum__cause(search,
				thrum__why_path_last(path)->task) = THRUM__CAUSE_HEALTHY;
		path->leaf = path->links[at].wait.next = keeper;
		return true;
	}
	if (!thrum__why_is_withheld(search, path))
		return false;
	if (THRUM__TASK(search->model, path->leaf, kind) == THRUM_KIND_TIMER)
		thrum__why_path_cut(search, path, path->length - 1);
	return true;
}

/* If the path leads on from an object that is left out while others like it are served, makes the object the
 * leaf: the server goes on, and never comes to it. Returns whether it is. */
static bool end_at_passed(struct thrum__search *search, struct thrum__why_path *path)
{
	uint32_t i = path->length;

	if (!path->is_marked || path->is_unknown || path->circle != THRUM__NONE ||
		path->reached != THRUM__NONE)
		return false;
	while (i-- > 1)
		if (path->links[i].is_served &&
			thrum__analyse_task_is_object(search->model, path->links[i].task)) {
			if (!thrum__why_add_passed_over(NULL, search, path->links[i].task))
				return false;
			thrum__why_path_cut(search, path, i);
			return true;
		}
	return false;
}

/* If a signal for one of the path's objects was lost on its way to who waits there, makes that object the
 * leaf. Returns whether it is. */
static bool end_at_unreadied(struct thrum__search *search, struct thrum__why_path *path)
{
	if (!path->is_marked || path->is_unknown || path->reached != THRUM__NONE)
		return false;
	for (uint32_t i = path->length; i-- > 0;) {
		struct thrum__analyse_wait wait;

		if (thrum__why_unreadied(search, path, i, &wait) == THRUM__NONE)
			continue;
		if (i + 1 < path->length)
			thrum__why_path_cut(search, path, i + 1);
		path->circle = THRUM__NONE;
		path->links[i].wait = wait;
		path->leaf = wait.on;
		return true;
	}
	return false;
}

/* Whether a thread has ended and left the task for which others wait. */
static bool is_abandoned(struct thrum__search *search, const struct thrum__why_path *path)
{
	uint32_t count;

	return search->is_open && !path->is_unknown && path->circle == THRUM__NONE &&
		(path->is_marked || path->length > 0) &&
		thrum__why_abandoner(search, path->leaf, &count) != THRUM__NONE;
}

/* Whether a thread that serves the leaf may just compute for long, or answers when its time limit is over. */
static bool is_served_by_busy(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_servers servers;
	unsigned first;

	if (!last || !thrum__analyse_task_is_object(search->model, path->leaf))
		return false;
	thrum__why_servers_of(search->model, path->leaf, last->task, &servers);
	return thrum__why_able_servers(search, path->leaf, &servers, &first) > 0 &&
		THRUM__TASK(search->model, servers.task[first], kind) == THRUM_KIND_THREAD &&
		(thrum__why_is_busy(search, servers.task[first]) ||
			thrum__why_lane_rests_for(search->model,
				thrum__why_last_lane(search->model, servers.task[first]),
				THRUM__REASON_WORK_FOR_A_TIME));
}

/* Whether a task never ran, and a thread that did nothing so far may be to run it: it may sleep unseen. */
static bool may_begin(const struct thrum__model *model, uint32_t task)
{
	THRUM__EACH_LANE (model, lane)
		if (thrum__analyse_task_is_pending(model, lane->task) &&
			lane->events <= NEW_EVENTS && lane->suspended_ns == 0 &&
			lane->suspended == THRUM__NONE && lane->running == lane->task)
			return THRUM__TASK(model, task, kind) == THRUM_KIND_TASK &&
				THRUM__TASK(model, task, run) == THRUM__NONE;
	return false;
}

/* Whether the path's leaf is a lock that others took again and again since the wait began, and one has kept
 * it for most of that time: then that it goes to others isn't the cause. */
static bool is_kept_meanwhile(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);
	int64_t taken;

	if (!last || !lock || lock->count != 1 || lock->busy <= last->wait.since ||
		!thrum__model_has_row(&model->edges, lock->holds[0].edge))
		return false;
	taken = THRUM__EDGE(model, lock->holds[0].edge, time);
	return model->end - taken > taken - last->wait.since;
}

/* Whether others tell how long a task takes, and its peers don't: a child's program may be another one than
 * before, and who reads slowly makes room late, however fast writes were before. */
static bool is_up_to_others(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "process ", "write to ");
}

/* Whether nobody knows how long the path's leaf takes. A handler's signal may come late. */
static bool may_take_long(const struct thrum__search *search, const struct thrum__why_path *path)
{
	return is_up_to_others(search->model, path->leaf) ||
		thrum__why_is_unused_pipe(search->model, path) || is_kept_meanwhile(search, path) ||
		is_served_by_busy(search, path) || thrum__why_has_other_clients(search, path) ||
		may_begin(search->model, path->leaf);
}

/* Whether it is the flag of an open file that another process changed: whoever reads may still do so. */
static bool is_flag(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_TASK &&
		THRUM__BEGINS_WITH(model, task, "O_NONBLOCK of ");
}

static bool leads_past_naps(const struct thrum__model *model, const struct thrum__why_path *path)
{
	for (uint32_t i = 0; i < path->length; i++)
		if (thrum__why_is_beside_naps(model, path->links[i].wait.on))
			return true;
	return false;
}

int thrum__why_judge(struct thrum__search *search, struct thrum__why_path *path, uint32_t *subject)
{
	int evidence, beside = thrum__why_beside(search, path->leaf);

	*subject = path->victim;
	path->unjudged = -1;
	if (beside == THRUM__BESIDE_ACTS)
		return -1;
	if (may_be_well(search, path))
		return thrum__why_is_overtaken(search, path) ||
				end_at_holder(search, path, false) || is_abandoned(search, path) ||
				end_at_passed(search, path) || end_at_unreadied(search, path)
			? THRUM__POSSIBLE
			: -1;
	shorten_path(search, path);
	if (path->is_marked && thrum__analyse_task_is_lock(search->model, path->leaf) &&
		end_at_holder(search, path, true))
		return THRUM__POSSIBLE;
	if (path->is_marked)
		return path->is_soon || beside != THRUM__BESIDE_NONE ||
				leads_past_naps(search->model, path) ||
				is_flag(search->model, path->leaf) ||
				thrum__why_is_loop(search, path->leaf) ||
				is_abandoned(search, path) ||
				thrum__why_may_be_forced(search, path) ||
				may_take_long(search, path)
			? THRUM__POSSIBLE
			: THRUM__LIKELY;
	/* Such tasks wait for promises, which often become others: nobody knows for which one it waits. */
	if (thrum__why_is_leaf_gone(search->model, path) && path->length > 0 &&
		thrum__analyse_task_is_plain(search->model, thrum__why_path_last(path)->task))
		return -1;
	evidence = thrum__why_evidence(search, path, subject);
	if (evidence == THRUM__EVIDENCE_NONE &&
		(thrum__why_is_overtaken(search, path) || end_at_holder(search, path, false) ||
			thrum__why_holds_up_loop(search->model, path->leaf)))
		evidence = THRUM__EVIDENCE_WEAK;
	if (evidence == THRUM__EVIDENCE_NONE)
		return -1;
	return evidence == THRUM__EVIDENCE_WEAK || is_up_to_others(search->model, path->leaf)
		? THRUM__POSSIBLE
		: THRUM__LIKELY;
}
