/* SPDX-License-Identifier: ISC */
/* Tells whether a lock is withheld: others wait for it, and its holder does something else. */
#include "analyse/why/blame/blame.h"

#define WITHHELD_MIN 1000000000 /* ns; shorter waits for a lock are never suspicious */
#define LOOK_BACK 1024          /* edges of a lock that are searched for releases */
#define RELEASES_MIN 8
#define TIMES 20      /* so many times as long as ever before, a lock isn't released */
#define TIMERS_MIN 10 /* so many timers of the holder ended: it goes round and round */

/* Whether a lock was released again and again, and now is neither taken nor released for far longer than ever
 * before. */
static bool is_release_overdue(const struct thrum__model *model, uint32_t lock)
{
	uint32_t edge = THRUM__TASK(model, lock, edge_in), releases = 0;
	int64_t longest = 0, next = -1, latest = -1;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
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
