/* SPDX-License-Identifier: ISC */
/* Tells whether a wait may well be over soon, or need not end at all. An excuse must be plausible. */
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024      /* edges of a task that are searched, from the latest back */
#define LONG_RUN 1000000000 /* ns; a longer run is suspicious */
#define SLACK 10000000      /* ns; a wait that began so shortly before the end is fresh */
#define LATE 10       /* so many times as old as its peers became, a thread's run is suspicious */
#define TOO_LATE 1000 /* so many times as old as its peers became, a task isn't idle */
#define KEPT_PEERS 8
#define KEPT_TIMES 20 /* so many times as old as its peers became, a marked handle is kept */
#define SUSPENSIONS_BACK 4096 /* suspensions that are searched for those of a lane */
#define TURNS_MIN 8           /* times that an event loop waited for work */
#define FRESH 50 /* the trace's length divided by this is the age of waits that just began */

/* Whether the note that tells when a task is due is forgotten. */
static bool is_due_forgotten(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	while (thrum__model_has_row(&model->notes, note) &&
		THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
		note = THRUM__NOTE(model, note, prev);
	return THRUM__TASK(model, task, flags) & THRUM__TASK_DUE &&
		thrum__why_is_cut(&model->notes, note);
}

/* Whether the leaf may wait for something, or may still come, and the model has forgotten the edge
 * or the note that tells so. Not for objects: the edges of those that wait for them tell enough. */
static bool is_half_forgotten(const struct thrum__model *model, uint32_t leaf)
{
	uint32_t edge = THRUM__TASK(model, leaf, edge_out);

	if (thrum__analyse_task_is_object(model, leaf))
		return false;
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK)
		/* The task may have become one that is pending. */
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__why_is_cut(&model->tasks, THRUM__EDGE(model, edge, to)))
			return true;
	return thrum__why_is_cut(&model->edges, edge) || is_due_forgotten(model, leaf) ||
		thrum__analyse_is_link_forgotten(model, leaf);
}

bool thrum__why_is_for_server(const struct thrum__model *model, const struct thrum__why_link *link)
{
	return link->is_served ||
		(THRUM__TASK(model, link->task, kind) == THRUM_KIND_REQUEST &&
			!link->wait.is_link &&
			THRUM__TASK(model, link->wait.on, kind) == THRUM_KIND_THREAD);
}

bool thrum__why_is_seen(const struct thrum__model *model, uint32_t task)
{
	return thrum__why_came_before(model, task) ||
		THRUM__BEGINS_WITH(model, task, "one-shot watch of", "wait for ended process",
			"writing end of", "reading end of", "other end of", "SIGCONT for stopped",
			"unread data of", "data so far unread of", "item unseen",
			"release of file lock", "removal of lock file", "free thread of",
			"pop of the main context");
}

bool thrum__why_came_before(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "SIGUSR1 that came", "SIGUSR2 that came",
		"SIGCHLD that came", "SIGRTMIN+");
}

bool thrum__why_may_be_gone(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "gone source", "stopped timer",
		"data so far unread of", "data so far unsent to", "outcome of works");
}

/* Whether the path's last waiter is needed elsewhere: it alone serves an object for which it often
 * waited itself, and others have signalled that object since it waits for the leaf. */
static bool is_needed(const struct thrum__model *model, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	bool has_waited = false, is_signalled = false;
	uint32_t edge;

	if (path->length < 2 || !last[-1].is_served)
		return false;
	edge = THRUM__TASK(model, last[-1].task, edge_in);
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			has_waited |= from == last->task;
		else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			is_signalled |= from != last->task &&
				THRUM__EDGE(model, edge, time) > last->wait.since;
		if (has_waited && is_signalled)
			return true;
	}
	return false;
}

bool thrum__why_is_in_call(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_TIMER:
		return thrum__why_thread_rests_for(model, task, THRUM__REASON_BLOCKED_FOR_A_TIME);
	case THRUM_KIND_HANDLE:
		return thrum__why_thread_rests_for(model, task, THRUM__REASON_BLOCKED_OUTSIDE);
	default: return false;
	}
}

bool thrum__why_holds_up_loop(const struct thrum__model *model, uint32_t task)
{
	uint32_t lane = THRUM__TASK(model, task, lane), row, turns = 0;
	int64_t age, longest = 0;

	if (!thrum__why_is_in_call(model, task))
		return false;
	row = thrum__why_resting(model, &model->lanes[lane]);
	age = model->end - THRUM__SUSPENSION(model, row, start);
	if (age < LONG_RUN)
		return false;
	for (uint32_t i = 0; i < SUSPENSIONS_BACK && row-- > model->suspensions.first; i++) {
		int64_t time;

		if (!thrum__model_has_row(&model->suspensions, row) ||
			THRUM__SUSPENSION(model, row, lane) != lane)
			continue;
		/* The thread rested since the task began: it is in another call. */
		if (THRUM__SUSPENSION(model, row, end) > THRUM__TASK(model, task, created))
			return false;
		time = THRUM__SUSPENSION(model, row, end) - THRUM__SUSPENSION(model, row, start);
		if (thrum__why_rests_for(model, row, THRUM__REASON_WORK))
			turns++;
		else
			longest = time > longest ? time : longest;
	}
	return turns >= TURNS_MIN && age / LATE > longest;
}

/* Whether a handle that should resolve is far older than its peers became: somebody keeps it. */
static bool is_kept(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, path->leaf);

	return path->is_marked && peer && peer->ended >= KEPT_PEERS &&
		thrum__why_peers_lateness(&search->peers, path->leaf) >= KEPT_TIMES &&
		!thrum__why_is_lasting(search->model, path->leaf);
}

/* Whether a task that should resolve has waited for long for a lock that another one holds. */
static bool is_wanted(const struct thrum__search *search, uint32_t lock, uint32_t holder)
{
	const struct thrum__model *model = search->model;

	THRUM__EDGES_TO (model, lock, edge, LOOK_BACK) {
		uint32_t task = THRUM__EDGE(model, edge, from);
		struct thrum__analyse_waits waits;

		if (!thrum__model_has_row(&model->tasks, task) ||
			!(THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count > 0 && waits.waits[0].on == lock && waits.waits[0].next == holder &&
			model->end - waits.waits[0].since >= THRUM__SOON_OUTSIDE)
			return true;
	}
	return false;
}

/* Whether a task waits for long while it holds a lock that is wanted: for far longer than anybody held it
 * before, if nothing is lost of what tells that. */
static bool keeps_lock(const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;

	if (model->end - link->wait.since < THRUM__SOON_OUTSIDE)
		return false;
	THRUM__EDGES_FROM (model, link->task, edge, LOOK_BACK) {
		uint32_t lock = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK &&
			thrum__model_has_row(&model->tasks, lock) &&
			THRUM__TASK(model, lock, kind) == THRUM_KIND_LOCK &&
			is_wanted(search, lock, link->task) &&
			(thrum__why_is_held_long(model, lock) ||
				search->gap > THRUM__TASK(model, lock, created)))
			return true;
	}
	return false;
}

/* Whether the leaf is a child that runs for as long as it likes: nothing tells that it was asked to end, and
 * who waits for it has no lock that another one needs. */
static bool is_running_child(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__analyse_graph *graph = &search->graph;

	if (path->length == 0 || !THRUM__BEGINS_WITH(search->model, path->leaf, "process ") ||
		strchr(thrum__model_task_name(search->model, path->leaf, NULL), ','))
		return false;
	for (uint32_t i = 0; i < graph->lock_count; i++)
		for (uint32_t k = 0; k < graph->locks[i].count; k++)
			if (graph->locks[i].holds[k].task == thrum__why_path_last(path)->task)
				return false;
	return true;
}

/* Whether the leaf is a handle that may be pending for ever. An overdue request that waits for it,
 * or a waiter that is far older than its peers became, or that keeps a lock, shows that it should come. */
static bool is_idle_handle(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_HANDLE)
		return false;
	if (!last)
		return !is_kept(search, path);
	if (thrum__why_covers_loop(model, path->leaf) || thrum__why_lost_of(search, path) ||
		is_needed(model, path) || thrum__why_is_longest_wait(search, path) ||
		thrum__why_holds_up_loop(model, path->leaf) ||
		thrum__why_last_timer(search, path) != THRUM__NONE)
		return false;
	if (thrum__why_keeps_join(search, path) ||
		thrum__why_unlogged(search, path) != THRUM__NONE) {
		path->is_soon = true; /* it may still come */
		return false;
	}
	if (THRUM__TASK(model, last->task, kind) == THRUM_KIND_REQUEST)
		return strncmp(thrum__model_task_name(model, last->task, NULL), "accept", 6) == 0 ||
			thrum__why_peers_is_young(&search->peers, last->task);
	if (path->is_marked && thrum__why_peers_lateness(&search->peers, last->task) > TOO_LATE)
		return false;
	if (thrum__why_peer_evidence(search, last->task) != THRUM__EVIDENCE_NONE ||
		thrum__why_peer_evidence(search, path->victim) != THRUM__EVIDENCE_NONE)
		return false;
	if (!keeps_lock(search, last))
		return true;
	path->is_soon = true; /* it may still come */
	return false;
}

/* Whether a thread sleeps, and the task that runs in it hasn't slept so before. */
static bool is_first_sleep(const struct thrum__search *search, uint32_t task, uint32_t timer)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	if (!thrum__why_is_in_call(model, timer))
		return false;
	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && to != timer &&
			thrum__model_has_row(&model->tasks, to) &&
			THRUM__TASK(model, to, kind) == THRUM_KIND_TIMER)
			return false;
	}
	return edge == THRUM__NONE;
}

/* Whether a task looks again and again, with a fresh timer each time: it or the victim is far older
 * than its peers became, and many timers like the leaf have ended. */
static bool is_polling(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, path->leaf);

	return last && peer && peer->ended >= THRUM__TRIES_MIN &&
		!is_first_sleep(search, last->task, path->leaf) &&
		(thrum__why_peer_evidence(search, last->task) != THRUM__EVIDENCE_NONE ||
			thrum__why_peer_evidence(search, path->victim) != THRUM__EVIDENCE_NONE);
}

/* Whether the path leads back to itself in a way that proves nothing. It does prove something if
 * each task needs the next, and one serves another: cycles.c doesn't look there. */
static bool is_harmless_circle(const struct thrum__model *model, const struct thrum__why_path *path)
{
	bool is_served = false;

	for (uint32_t i = path->circle; i < path->length; i++) {
		const struct thrum__why_link *link = &path->links[i];

		is_served |= link->is_served;
		if (link->wait.is_link || thrum__analyse_task_is_choice(model, link->task))
			return true;
	}
	return !is_served;
}

/* Whether the last wait began in the last moments, and may still end: not if the program says that
 * nothing is left that could wake it. */
static bool is_fresh(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t since = last && !last->is_served ? thrum__why_waits_since(model, last)
						 : THRUM__TASK(model, path->leaf, created);

	int64_t share = model->end / FRESH, slack = SLACK;
	int64_t end = thrum__why_end_of(model, path->leaf);

	if (search->is_deadlocked || search->is_stranded)
		return false;
	/* A program that is stopped breaks off its latest work. */
	if (model->ending == THRUM_ENDING_STOPPED || model->ending == THRUM_ENDING_EXITED) {
		share *= 2;
		slack *= 5;
	}
	return end - since < (share < slack ? share : slack);
}

/* Whether the leaf comes soon, if the victim's tries may succeed at all. */
static bool may_come(const struct thrum__search *search, const struct thrum__why_path *path)
{
	if (is_fresh(search, path) || thrum__why_peers_is_young(&search->peers, path->leaf))
		return true;
	return thrum__why_is_running_timer(search, path->leaf) && !is_polling(search, path) &&
		!thrum__why_is_broken_timer(search, path);
}

/* Whether a lock that no task holds may have gone to another program, or what nobody signalled so far may be
 * signalled by one, or by a signal's handler. */
static bool may_be_elsewhere(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);
	uint32_t lane = last ? thrum__why_last_lane(model, last->task) : THRUM__NONE;

	return ((THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_LOCK &&
			!(lock && lock->count > 0)) ||
		       thrum__why_is_untouched(model, path->leaf)) &&
		thrum__why_lane_rests_for(model, lane, THRUM__REASON_BLOCKED_OUTSIDE);
}

/* Whether all that are missing at a barrier do something that no wait tells of, and may come: its rounds took
 * as long before. If they didn't, sets path->is_soon: they may come nevertheless. */
static bool is_late_party(const struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t absent[THRUM__ABSENT_MAX];
	unsigned missing = last ? thrum__why_absent(search, path->leaf, last->task, absent) : 0;

	for (unsigned i = 0; i < missing; i++)
		if (!thrum__why_is_busy(search, absent[i]))
			return false;
	path->is_soon |= missing > 0;
	return missing > 0 && thrum__why_is_usual_round(model, path->leaf);
}

/* Whether the callback that serves the leaf set no timer in its last run, or is one that is put off. */
static bool is_unarmed(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_servers servers;
	uint32_t by;

	if (!last)
		return false;
	thrum__why_servers_of(search->model, path->leaf, last->task, &servers);
	return thrum__why_add_unarmed(NULL, search, last, &servers) ||
		thrum__why_put_off_server(search, last, &servers, &by) != THRUM__NONE;
}

/* Whether a thread waits for events of the outside or of a timer, as its recorder says. */
static bool is_open_loop(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_loop_of(model, thread);

	return thrum__analyse_graph_waits(&search->graph, thread).count == 0 &&
		(thrum__why_lane_rests_for(model, lane, THRUM__REASON_WORK_OUTSIDE) ||
			thrum__why_lane_rests_for(model, lane, THRUM__REASON_WORK_FOR_A_TIME));
}

/* Whether a leaf waits for room in a connection, and the only task that ever read there rests for a time:
 * then it makes room. */
static bool has_resting_reader(const struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits;
	struct thrum__awaited a;

	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, leaf, i)) != THRUM__NONE;) {
		if (!thrum__model_room(model, i, &a) ||
			!thrum__analyse_task_is_pending(model, a.server))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, a.server);
		if (waits.count == 1 && thrum__why_due_of(model, waits.waits[0].on) >= model->end &&
			thrum__why_is_running_timer(search, waits.waits[0].on))
			return true;
	}
	return false;
}

bool thrum__why_is_excused(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_unreplied unreplied;
	uint32_t leaf = path->leaf, task;

	path->tries = 0;
	if (path->is_unknown)
		return true;
	if (path->circle != THRUM__NONE)
		return is_fresh(search, path) || is_harmless_circle(model, path) ||
			thrum__why_is_open_circle(model, path) ||
			thrum__why_has_woken(search, path) || thrum__why_is_limited(search, path) ||
			thrum__why_has_newcomer(search, path);
	if (last && thrum__why_no_pair_reply(search, last, &unreplied))
		return false;
	if (thrum__analyse_task_is_object(model, leaf))
		return is_late_party(search, path) || is_fresh(search, path) ||
			thrum__why_has_woken(search, path) ||
			thrum__why_has_server_at_turn(search, path) ||
			may_be_elsewhere(search, path) || thrum__why_ends_at_handler(model, path) ||
			thrum__why_has_newcomer(search, path) ||
			thrum__why_may_be_made(search, path) ||
			thrum__why_may_be_passed(search, path) ||
			thrum__why_is_limited(search, path) ||
			(thrum__why_may_be_served(search, path) &&
				!thrum__why_is_at_standstill(search, last) &&
				!is_unarmed(search, path));
	if (is_half_forgotten(model, leaf))
		return true;
	if (is_idle_handle(search, path))
		return thrum__why_dropped(search, leaf).task == THRUM__NONE;
	if (may_come(search, path)) {
		thrum__why_count_tries(search, path);
		return path->tries == 0;
	}
	if (!path->is_marked && thrum__why_is_unrun(model, leaf) &&
		(!last || !thrum__why_asked_unrun(search, &path->links[0].wait, &task)))
		return true;
	return thrum__why_is_at_work(search, leaf) || thrum__why_is_answering(search, leaf) ||
		is_running_child(search, path) || has_resting_reader(search, leaf) ||
		((thrum__why_is_loop(search, leaf) || is_open_loop(search, leaf)) &&
			!thrum__why_unrun(search, leaf, &task) &&
			thrum__why_left_open(search, leaf) == THRUM__NONE &&
			thrum__why_dropped(search, leaf).task == THRUM__NONE);
}
