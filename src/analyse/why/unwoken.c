/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that never go on although their wait is over and their lane has nothing else to do: nobody
 * woke them. Another waiter of the same task often was woken instead, as there was room for one only.
 */
#include "analyse/why/parts.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */
#define PEERS_MIN 8    /* so many peers that ended show that such tasks go on */

/* Whether the task began to wait in the middle of its last run, as those do that are resumed. */
static bool waits_in_run(const struct thrum__model *model, uint32_t task, uint32_t wait)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, start) <= THRUM__EDGE(model, wait, time) &&
		THRUM__RUN(model, run, end) >= THRUM__EDGE(model, wait, time);
}

/* Whether the lane on which the task ran last has nothing to do at the model's end. */
static bool is_lane_free(const struct thrum__model *model, uint32_t task)
{
	const struct thrum__lane *lane =
		&model->lanes[THRUM__RUN(model, THRUM__TASK(model, task, run), lane)];

	return lane->suspended != THRUM__NONE &&
		(lane->running == THRUM__NONE || lane->running == lane->task);
}

/* Whether a task ran or ended after a time. */
static bool went_on(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) >= time;
}

/* The edge by which another task waited for the same one and went on when that ended, or NONE. */
static uint32_t woken_instead(const struct thrum__model *model, uint32_t source, uint32_t task,
	int64_t since)
{
	THRUM__EDGES_TO (model, source, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && from != task &&
			thrum__model_has_row(&model->tasks, from) &&
			!thrum__analyse_task_is_lane(model, from) && went_on(model, from, since))
			return edge;
	}
	return THRUM__NONE;
}

/* Whether tasks like this one run again after they waited. */
static bool do_peers_go_on(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	uint32_t edge;

	if (!peer || peer->ended < PEERS_MIN || !thrum__model_has_row(&model->tasks, peer->sample))
		return false;
	edge = thrum__why_edge_from(model, peer->sample, THRUM__EDGE_WAIT);
	return edge != THRUM__NONE && went_on(model, peer->sample, THRUM__EDGE(model, edge, time));
}

static void check_task(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t since = 0;
	uint32_t wait, source, other;
	struct thrum__finding *finding;

	if (*thrum__cause(search, task) != THRUM__NONE ||
		thrum__why_peers_is_young(&search->peers, task) || !do_peers_go_on(search, task))
		return;
	wait = thrum__why_ready_since(search, task, &since);
	if (wait == THRUM__NONE || thrum__why_is_recent(model, since) ||
		!waits_in_run(model, task, wait) || !is_lane_free(model, task))
		return;
	source = thrum__model_heir(model, THRUM__EDGE(model, wait, to));
	other = woken_instead(model, source, task, since);
	finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
		thrum__why_certainty(search, other == THRUM__NONE ? THRUM__POSSIBLE : THRUM__LIKELY,
			since),
		task);
	if (!finding)
		return;
	if (other != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_WOKEN, THRUM__EDGE(model, other, from),
			source, since, other);
	thrum__why_add_at(finding, model, THRUM__STEP_NOT_WOKEN, task, source, wait);
	*thrum__cause(search, task) = search->findings->count - 1;
	thrum__why_mark(search, task, THRUM__MARK_STUCK);
}

int thrum__why_find_unwoken(struct thrum__search *search)
{
	THRUM__WHY_EACH (search, task, THRUM__SORT_READY)
		check_task(search, task);
	return 0;
}
