/* SPDX-License-Identifier: ISC */
/*
 * Tells whether somebody who isn't recorded may write to a pipe next: a signal's handler, or the outside.
 * Then those who wait to read from it need not wait for ever.
 */
#include "analyse/why/excuses/excuses.h"

#define SUSPENSIONS_BACK 4096 /* suspensions that are searched for those of a lane */

/* Whether a wait is for what comes out of a pipe, into which a handler or somebody outside may write. A task
 * that ever wrote there waits for room, which no handler makes. */
static bool is_open_link(const struct thrum__model *model, const struct thrum__why_link *link)
{
	uint32_t lane = thrum__why_last_lane(model, link->task);

	return !link->is_served && THRUM__TASK(model, link->wait.on, kind) == THRUM_KIND_STREAM &&
		!thrum__why_has_acted(model, link->task, THRUM__EDGE_SIGNAL, link->wait.on) &&
		lane != THRUM__NONE &&
		thrum__why_is_open_wait(model, thrum__why_resting(model, &model->lanes[lane]));
}

/* Whether the thread of a task was at rest at a time: what the task did then, a signal's handler did. */
static bool was_at_rest(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t lane = thrum__why_last_lane(model, task), row = model->suspensions.count;

	for (int i = 0;
		lane != THRUM__NONE && i < SUSPENSIONS_BACK && row-- > model->suspensions.first;
		i++)
		if (thrum__model_has_row(&model->suspensions, row) &&
			THRUM__SUSPENSION(model, row, lane) == lane &&
			THRUM__SUSPENSION(model, row, start) <= time)
			return time < THRUM__SUSPENSION(model, row, end);
	return false;
}

/* Whether a path ends at such a pipe, and no adapter saw that nobody ends it. Sets *signal to the last edge
 * by which somebody wrote to it, or NONE. */
static bool ends_at_open_pipe(const struct thrum__model *model, const struct thrum__why_path *path,
	uint32_t *signal)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	*signal = thrum__why_edge_to(model, path->leaf, THRUM__EDGE_SIGNAL);
	return last && is_open_link(model, last) && !thrum__why_is_seen(model, path->victim);
}

/* Whether the last wait of a path began while the program had a handler that may end it. */
static bool rests_for_handler(const struct thrum__model *model, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t lane = last && !last->is_served ? thrum__why_last_lane(model, last->task)
						 : THRUM__NONE;

	return thrum__why_lane_rests_for(model, lane, THRUM__REASON_HANDLER);
}

/* Whether the last one that signalled an object was a thread that nobody in the program made, and has ended:
 * the C library makes one for each notice, and will make the next. */
static bool is_signalled_by_notice(const struct thrum__model *model, uint32_t object)
{
	uint32_t task = thrum__why_actor_to(model, object, THRUM__EDGE_SIGNAL);

	return THRUM__TASK(model, object, kind) != THRUM_KIND_STREAM && task != THRUM__NONE &&
		THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
		THRUM__TASK(model, task, creator) == THRUM__NONE &&
		!thrum__analyse_task_is_pending(model, task);
}

bool thrum__why_ends_at_handler(const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	uint32_t signal;

	if (rests_for_handler(model, path) && is_signalled_by_notice(model, path->leaf))
		return true;
	if (!ends_at_open_pipe(model, path, &signal))
		return false;
	if (signal == THRUM__NONE)
		return rests_for_handler(model, path);
	return was_at_rest(model, THRUM__EDGE(model, signal, from),
		THRUM__EDGE(model, signal, time));
}

bool thrum__why_is_unused_pipe(const struct thrum__model *model, const struct thrum__why_path *path)
{
	uint32_t signal;

	return ends_at_open_pipe(model, path, &signal) && signal == THRUM__NONE;
}

/* Nobody idles with a lock that another one needs. */
bool thrum__why_is_open_circle(const struct thrum__model *model, const struct thrum__why_path *path)
{
	bool is_open = false;

	for (uint32_t i = path->circle; i < path->length; i++) {
		if (thrum__why_is_held(&path->links[i].wait))
			return false;
		is_open |= is_open_link(model, &path->links[i]);
	}
	return is_open;
}
