/* SPDX-License-Identifier: ISC */
/* Tells whether a lock is withheld: others wait for it, and its holder does something else. */
#include "analyse/why/objects/objects.h"

#define WITHHELD_MIN 1000000000 /* ns; shorter waits for a lock are never suspicious */
#define LOOK_BACK 1024          /* edges of a lock that are searched for releases */
#define RELEASES_MIN 8
#define TIMES 20      /* so many times as long as ever before, a lock isn't released */
#define TIMERS_MIN 10 /* so many timers of the holder ended: it goes round and round */
#define HOLDS_MIN 3   /* short holds of a holder that moved on, */
#define OTHERS_MIN 64 /* or of others */
#define OTHERS_AT_ONCE 16

/* Whether a lock was released again and again, and now is neither taken nor released for far longer than ever
 * before. */
static bool is_release_overdue(const struct thrum__model *model, uint32_t lock)
{
	uint32_t releases = 0;
	int64_t longest = 0, next = -1, latest = -1;

	THRUM__EDGES_TO (model, lock, edge, LOOK_BACK) {
		int64_t time = THRUM__EDGE(model, edge, time);
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_LOCK || kind == THRUM__EDGE_UNLOCK)
			latest = time > latest ? time : latest;
		if (kind != THRUM__EDGE_UNLOCK)
			continue;
		if (releases++ > 0 && next - time > longest)
			longest = next - time;
		next = time;
	}
	return releases >= RELEASES_MIN && model->end - latest >= WITHHELD_MIN &&
		(model->end - latest) / TIMES > longest;
}

/* How often a task waited at a place of the program after an edge of its own, TIMERS_MIN at most. */
static uint32_t rounds_since(const struct thrum__model *model, uint32_t task, uint32_t first,
	int place)
{
	uint32_t rounds = 0;

	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK) {
		if (edge == first || rounds == TIMERS_MIN)
			break;
		rounds += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, value) == place;
	}
	return rounds;
}

/* Whether others took a lock again and again during a hold, and released it far sooner. */
static bool are_others_short(const struct thrum__model *model,
	const struct thrum__analyse_hold *hold)
{
	uint32_t lock = THRUM__EDGE(model, hold->edge, to),
		 edge = THRUM__TASK(model, lock, edge_in);
	int64_t since = THRUM__EDGE(model, hold->edge, time), longest = 0;
	struct {
		uint32_t task;
		int64_t released; /* -1: it hasn't */
	} others[OTHERS_AT_ONCE];
	uint32_t count = 0, holds = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from), i = 0;
		int64_t time = THRUM__EDGE(model, edge, time);
		int kind = THRUM__EDGE(model, edge, kind);

		if (time < since || holds == OTHERS_MIN)
			break;
		if ((kind != THRUM__EDGE_LOCK && kind != THRUM__EDGE_UNLOCK) || from == hold->task)
			continue;
		while (i < count && others[i].task != from)
			i++;
		if (i == OTHERS_AT_ONCE)
			return false;
		if (i == count) {
			others[i].task = from;
			others[count++].released = -1;
		}
		if (kind == THRUM__EDGE_UNLOCK) {
			others[i].released = time;
		} else if (others[i].released >= 0) {
			longest = others[i].released - time > longest ? others[i].released - time
								      : longest;
			others[i].released = -1;
			holds++;
		}
	}
	return holds == OTHERS_MIN && (model->end - since) / TIMES > longest;
}

/*
 * Whether a holder has moved on, and kept the lock: it took it at the same place before, and released it far
 * sooner; or (is_stuck) others do. Where it sleeps now, it slept again and again without the lock, and never
 * with it. A wait that went on when a hold was told belongs to the hold: others tell of it once they wait.
 */
static bool has_moved_on(const struct thrum__model *model, const struct thrum__analyse_hold *hold,
	int place, bool is_stuck)
{
	uint32_t edge = hold->edge, holds = 0, outside = 0, lock = THRUM__EDGE(model, edge, to);
	int64_t longest = 0, released = -1, taken = INT64_MAX;
	int taker = thrum__model_edge_place(model, edge);

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int64_t time = THRUM__EDGE(model, edge, time);
		int kind = THRUM__EDGE(model, edge, kind);

		if (edge == hold->edge)
			continue;
		if (kind == THRUM__EDGE_UNLOCK && to == lock) {
			released = time;
		} else if (kind == THRUM__EDGE_LOCK && to == lock && released >= 0) {
			longest = released - time > longest ? released - time : longest;
			holds += thrum__model_edge_place(model, edge) == taker;
			taken = time;
			released = -1;
		} else if (kind == THRUM__EDGE_WAIT && THRUM__EDGE(model, edge, value) == place) {
			if (released >= 0 || !thrum__model_has_row(&model->tasks, to) ||
				(taken < INT64_MAX && THRUM__TASK(model, to, end) > taken))
				return false;
			outside++;
		}
	}
	return place != 0 && outside >= TIMERS_MIN &&
		(holds >= HOLDS_MIN ? (model->end - THRUM__EDGE(model, hold->edge, time)) / TIMES >
					longest
				    : is_stuck && are_others_short(model, hold)) &&
		rounds_since(model, hold->task, hold->edge, place) == TIMERS_MIN;
}

/* The last link of a path that waits for a lock; the path's length: none does. */
static uint32_t lock_link(const struct thrum__model *model, const struct thrum__why_path *path)
{
	for (uint32_t i = path->length; i-- > 0;)
		if (thrum__analyse_task_is_lock(model, path->links[i].wait.on))
			return i;
	return path->length;
}

uint32_t thrum__why_kept_by(struct thrum__search *search, const struct thrum__why_path *path,
	bool is_stuck, uint32_t *at)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_lock *lock;

	*at = lock_link(model, path);
	if (*at == path->length || path->is_unknown || path->reached != THRUM__NONE ||
		path->circle != THRUM__NONE ||
		model->end - path->links[*at].wait.since < WITHHELD_MIN)
		return THRUM__NONE;
	lock = thrum__analyse_graph_lock(&search->graph, path->links[*at].wait.on);
	for (uint32_t i = 0; lock && i < lock->count; i++) {
		const struct thrum__analyse_hold *hold = &lock->holds[i];
		struct thrum__analyse_waits waits;

		if (hold->is_guess || !thrum__analyse_task_is_pending(model, hold->task) ||
			*thrum__cause(search, hold->task) < search->findings->count ||
			model->end - THRUM__EDGE(model, hold->edge, time) < WITHHELD_MIN)
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, hold->task);
		if (waits.count == 1 &&
			THRUM__TASK(model, waits.waits[0].on, kind) == THRUM_KIND_TIMER &&
			has_moved_on(model, hold, THRUM__EDGE(model, waits.waits[0].edge, value),
				is_stuck))
			return hold->task;
	}
	return THRUM__NONE;
}

bool thrum__why_is_withheld(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, path->leaf);
	const struct thrum__why_link *waiter, *holder;

	if (path->length < 2 || path->is_unknown || path->reached != THRUM__NONE ||
		path->circle != THRUM__NONE || thrum__why_is_inbound(model, path->leaf))
		return false;
	holder = thrum__why_path_last(path);
	waiter = holder - 1;
	if (waiter->is_served || !thrum__why_is_held(&waiter->wait) ||
		!thrum__why_is_lock(search, waiter->wait.on) ||
		model->end - waiter->wait.since < WITHHELD_MIN)
		return false;
	/* One long sleep that isn't over is a holder's work, and no round. */
	if (THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_TIMER)
		return peer && peer->ended >= TIMERS_MIN &&
			model->end - holder->wait.since < WITHHELD_MIN &&
			is_release_overdue(model, waiter->wait.on);
	return THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST &&
		thrum__why_thread_rests_for(model, path->leaf, THRUM__REASON_BLOCKED_OUTSIDE) &&
		model->end - holder->wait.since >= WITHHELD_MIN;
}
