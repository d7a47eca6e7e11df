/* SPDX-License-Identifier: ISC */
/* Tells who is missing at a barrier: a condition that is signalled by the last one to come. */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024 /* edges of a barrier that are searched, from the latest back */
#define PARTIES 64
#define USUAL 2 /* so many times as long as before, a round may take */

bool thrum__why_is_barrier(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_CONDITION &&
		THRUM__BEGINS_WITH(model, task, "barrier");
}

/* The parties of the last round that was full: the one that came last, and those that it woke. Those that
 * wait since then are written to `here`. Returns how many parties there are. */
static unsigned last_round(const struct thrum__model *model, uint32_t barrier,
	uint32_t parties[PARTIES], uint32_t here[PARTIES], unsigned *waiting)
{
	unsigned count = 0;

	*waiting = 0;
	THRUM__EDGES_TO (model, barrier, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);
		int kind = THRUM__EDGE(model, edge, kind);

		if (!thrum__model_has_row(&model->tasks, from) || count == PARTIES ||
			*waiting == PARTIES)
			return 0;
		from = thrum__model_heir(model, from);
		if (kind == THRUM__EDGE_WAIT && !thrum__why_is_among(parties, count, from) &&
			!thrum__why_is_among(here, *waiting, from))
			here[(*waiting)++] = from;
		if ((kind == THRUM__EDGE_READ || kind == THRUM__EDGE_SIGNAL) &&
			!thrum__why_is_among(parties, count, from))
			parties[count++] = from;
		if (kind == THRUM__EDGE_SIGNAL)
			return count;
	}
	return 0;
}

/* The same tasks as the waiter, if nobody has ever passed the barrier. */
static unsigned all_peers(const struct thrum__search *search, uint32_t waiter,
	uint32_t peers[PARTIES])
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, waiter);
	unsigned count = 0;

	if (key == THRUM__NONE)
		return 0;
	THRUM__EACH_TASK (model, task)
		if (thrum__why_peers_key(&search->peers, task) == key) {
			peers[count++] = task;
			if (count == PARTIES)
				return 0;
		}
	return count;
}

unsigned thrum__why_absent(const struct thrum__search *search, uint32_t barrier, uint32_t waiter,
	uint32_t absent[THRUM__ABSENT_MAX])
{
	const struct thrum__model *model = search->model;
	uint32_t parties[PARTIES], here[PARTIES];
	unsigned waiting, found = 0, count;

	if (!thrum__why_is_barrier(model, barrier) ||
		THRUM__TASK(model, barrier, flags) & THRUM__TASK_PREEXISTING)
		return 0;
	count = last_round(model, barrier, parties, here, &waiting);
	if (count == 0 && thrum__why_edge_to(model, barrier, THRUM__EDGE_SIGNAL) == THRUM__NONE)
		count = all_peers(search, waiter, parties);
	for (unsigned i = 0; i < count; i++) {
		if (thrum__why_is_among(here, waiting, parties[i]))
			continue;
		if (found == THRUM__ABSENT_MAX)
			return 0;
		absent[found++] = parties[i];
	}
	return found;
}

bool thrum__why_is_usual_round(const struct thrum__model *model, uint32_t barrier)
{
	uint32_t edge = THRUM__TASK(model, barrier, edge_in);
	int64_t longest = 0, latest = -1, next = -1;

	if (!thrum__why_is_barrier(model, barrier))
		return false;
	THRUM__EDGES_OF (model, edge, prev_in, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (latest < 0)
			latest = time;
		else if (next - time > longest)
			longest = next - time;
		next = time;
	}
	if (edge == THRUM__NONE && next - THRUM__TASK(model, barrier, created) > longest)
		longest = next - THRUM__TASK(model, barrier, created);
	return latest >= 0 && model->end - latest <= USUAL * longest;
}
