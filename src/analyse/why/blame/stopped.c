/* SPDX-License-Identifier: ISC */
/*
 * Tells who stopped the timer for which somebody waits, or which was to try again, if it was a task that has
 * nothing to do with that: it may have taken another timer for its own.
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#define EDGES_BACK 64        /* edges of a task that are searched, from the latest back */
#define NOTES_BACK 64        /* notes of a timer, likewise */
#define SET_MIN 4            /* so often a timer was set that it should be again */
#define RESTS_MIN 1000000000 /* ns; timers may rest for less */
#define LONGER 20            /* so many times as long as it ever took is suspicious */
#define OWN_MIN 3            /* so many that their own tasks cancelled show that each should */

static const struct thrum__why_stopped none = {THRUM__NONE, THRUM__NONE, THRUM__NONE, 0};

/* Whether a task does things of its own: it is no thread's, and neither on the path nor its victim. */
static bool is_stranger(const struct thrum__model *model, const struct thrum__why_path *path,
	uint32_t task)
{
	if (!thrum__model_has_row(&model->tasks, task) || thrum__analyse_task_is_lane(model, task))
		return false;
	task = thrum__model_heir(model, task);
	for (uint32_t i = 0; i < path->length; i++)
		if (path->links[i].task == task)
			return false;
	return task != path->leaf && task != thrum__model_heir(model, path->victim);
}

/* ---- Timers that rest ------------------------------------------------------------------------ */

/* Whether a timer rests since a time, for far longer than it ever took, though it was set again and again and
 * never rested before. */
static bool rests_at_last(const struct thrum__model *model, uint32_t timer, int64_t *since)
{
	uint32_t note = THRUM__TASK(model, timer, note);
	int64_t takes = 0;
	unsigned set = 0;

	*since = -1;
	THRUM__NOTES_BACK (model, note, NOTES_BACK) {
		int64_t time = THRUM__NOTE(model, note, time),
			value = THRUM__NOTE(model, note, value);

		if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
			continue;
		if ((value == THRUM__OPEN) != (*since < 0))
			return false;
		if (*since < 0) {
			*since = time;
			continue;
		}
		takes = value - time > takes ? value - time : takes;
		set++;
	}
	return set >= SET_MIN && model->end - *since >= RESTS_MIN &&
		(model->end - *since) / LONGER > takes;
}

struct thrum__why_stopped thrum__why_stopped_leaf(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_stopped stopped = {.timer = path->leaf, .edge = THRUM__NONE};
	uint32_t row = model->runs.count - 1;

	if (!last || last->is_served || !path->is_marked || model->runs.count == 0 ||
		THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_TIMER ||
		thrum__analyse_graph_waits(&search->graph, last->task).count != 1 ||
		!rests_at_last(model, path->leaf, &stopped.time) ||
		stopped.time < last->wait.since || search->gap > last->wait.since)
		return none;
	stopped.by = thrum__why_ran_at(model, THRUM__TASK(model, path->leaf, lane), stopped.time,
		&row);
	/* One that goes on may set it again. */
	return is_stranger(model, path, stopped.by) &&
			!thrum__analyse_task_is_pending(model, stopped.by)
		? stopped
		: none;
}

/* ---- Time limits ----------------------------------------------------------------------------- */

/* Tells by whom a timer was cancelled; its timer is NONE if it was not. */
static struct thrum__why_stopped cancelled(const struct thrum__model *model, uint32_t timer)
{
	struct thrum__why_stopped stopped = {.timer = timer};

	if (!thrum__model_has_row(&model->tasks, timer) ||
		THRUM__TASK(model, timer, kind) != THRUM_KIND_TIMER ||
		THRUM__TASK(model, timer, state) != THRUM__STATE_CANCELLED)
		return none;
	stopped.time = THRUM__TASK(model, timer, end);
	stopped.edge = thrum__why_edge_to(model, timer, THRUM__EDGE_CANCEL);
	stopped.by = thrum__why_actor(model, stopped.edge);
	return stopped;
}

struct thrum__why_stopped thrum__why_stopped_limit(const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t edge = last && !last->is_served && thrum__analyse_task_is_choice(model, last->task)
		? THRUM__TASK(model, last->task, edge_out)
		: THRUM__NONE;

	THRUM__EDGES_OF (model, edge, prev_out, EDGES_BACK, THRUM__EDGE_WAIT) {
		struct thrum__why_stopped limit = cancelled(model, THRUM__EDGE(model, edge, to));

		if (limit.timer != THRUM__NONE && limit.time > THRUM__EDGE(model, edge, time) &&
			limit.by != THRUM__TASK(model, limit.timer, creator) &&
			is_stranger(model, path, limit.by))
			return limit;
	}
	return none;
}

/* ---- Timers to try again ----------------------------------------------------------------------- */

struct thrum__why_stopped thrum__why_stopped_retry(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_stopped retry = none;
	uint32_t leaf = path->leaf, own = 0;

	THRUM__EACH_TASK (model, task) {
		uint32_t maker = THRUM__TASK(model, task, creator);
		struct thrum__why_stopped other = cancelled(model, task);

		if (maker == leaf) {
			retry = other;
		} else if (other.timer != THRUM__NONE &&
			thrum__model_has_row(&model->tasks, maker) &&
			thrum__why_is_alike(search, maker, leaf)) {
			own++;
			if (other.by != maker)
				return none;
		}
	}
	return own >= OWN_MIN && is_stranger(model, path, retry.by) &&
			thrum__why_is_alike(search, retry.by, leaf) &&
			THRUM__TASK(model, leaf, last) < retry.time
		? retry
		: none;
}
