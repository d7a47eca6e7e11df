/* SPDX-License-Identifier: ISC */
/*
 * Tells who gave up its wait for a condition, if those who served another one signal that one in vain since,
 * and the other no more: as if they still counted the one that gave up.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */
#define VAIN_MIN 3     /* signals that nobody heard */

/* The signals of a condition since a time. */
struct vain {
	uint32_t condition, count;
	int64_t first;
};

/* Adds the signals that a task gave since a time. Returns false if somebody heard one, or if they aren't all
 * for one condition. */
static bool add_signals(const struct thrum__model *model, uint32_t task, uint32_t leaf,
	int64_t since, struct vain *vain)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);
		int64_t time = THRUM__EDGE(model, edge, time);

		if (time <= since)
			return true;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL || to == leaf ||
			!thrum__why_is_condition(model, to))
			continue;
		if (thrum__model_waiters(model, edge) != 0 ||
			(vain->count > 0 && to != vain->condition))
			return false;
		vain->condition = to;
		vain->first = vain->count++ == 0 || time < vain->first ? time : vain->first;
	}
	return edge == THRUM__NONE;
}

/* The latest wait for a condition that ended without a signal before a time: the edge by which it began. Sets
 * *time to its end. NONE: there is none. */
static uint32_t given_up(const struct thrum__model *model, uint32_t condition, int64_t before,
	int64_t *time)
{
	uint32_t read = THRUM__NONE;

	/* The one that is looked at goes on by `read`, and nobody has signalled since its wait began. */
	THRUM__EDGES_TO (model, condition, edge, LOOK_BACK) {
		switch (THRUM__EDGE(model, edge, kind)) {
		case THRUM__EDGE_READ:
			if (read == THRUM__NONE && THRUM__EDGE(model, edge, time) < before)
				read = edge;
			break;
		case THRUM__EDGE_SIGNAL: read = THRUM__NONE; break;
		case THRUM__EDGE_WAIT:
			if (read != THRUM__NONE &&
				THRUM__EDGE(model, edge, from) == THRUM__EDGE(model, read, from)) {
				*time = THRUM__EDGE(model, read, time);
				return edge;
			}
			break;
		default: break;
		}
	}
	return THRUM__NONE;
}

void thrum__why_add_given_up(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_link *link, const struct thrum__why_servers *servers)
{
	struct vain vain = {.condition = THRUM__NONE};
	int64_t time;
	uint32_t wait;

	if (THRUM__TASK(model, link->wait.on, kind) != THRUM_KIND_CONDITION || !servers->is_whole)
		return;
	for (unsigned i = 0; i < servers->count; i++)
		if (!add_signals(model, servers->task[i], link->wait.on, link->wait.since, &vain))
			return;
	if (vain.count < VAIN_MIN ||
		thrum__why_lock_of_condition(model, vain.condition) !=
			thrum__why_lock_of_condition(model, link->wait.on))
		return;
	wait = given_up(model, vain.condition, vain.first, &time);
	if (wait != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_GAVE_UP,
					    THRUM__EDGE(model, wait, from), vain.condition, time,
					    wait),
			vain.count);
}
