/* SPDX-License-Identifier: ISC */
/*
 * Tells whether a timer may still come. One that is due in hours where its peers took milliseconds may not,
 * nor one that is put off again and again, or was never set.
 */
#include "analyse/why/excuses/excuses.h"

#define SLACK 100000000       /* ns by which a timer may be late on a busy machine, */
#define SLACK_BUSY 1000000000 /* or while its thread is busy */
#define FAR 100               /* so many lives or due times of its peers are too late for a timer */
#define FAR_MIN 1000000000    /* ns; an earlier timer is never too late */
#define FAR_PEERS 3
#define FAR_FEW 2       /* so many peers tell the same, */
#define FAR_UNITS 10000 /* if it is so many times too late: as if it had another unit */
#define FAR_LATE 10  /* so many times as old as its peers became, a task behind a timer is late */
#define BEHIND_MAX 4 /* tasks behind a timer, each of which waits for the one before */
#define PUT_OFF_TIMES 10 /* so many times as long as it takes, it has been awaited */
#define UNSET_PEERS 2
#define UNSET_TIMES 4

/* Whether others were due so soon that a time which is left is far too long. */
static bool is_far(const struct thrum__dues *dues, int64_t left)
{
	if (dues->soon >= FAR_FEW && dues->late == 0 && left / FAR_UNITS > dues->longest)
		return true;
	return dues->soon >= FAR_PEERS && dues->late <= dues->soon / FAR_PEERS &&
		left / FAR > dues->longest;
}

/* Whether a pending task behind a timer is far older than its peers became. */
static bool is_late_behind(const struct thrum__search *search, uint32_t timer)
{
	const struct thrum__model *model = search->model;
	uint32_t task = timer;

	for (int i = 0; i < BEHIND_MAX; i++) {
		task = thrum__why_peers_waiter(model, task);
		if (task == THRUM__NONE)
			return false;
		task = thrum__model_heir(model, task);
		if (thrum__analyse_task_is_pending(model, task) &&
			thrum__why_peers_lateness(&search->peers, task) >= FAR_LATE)
			return true;
	}
	return false;
}

/* Whether timers that are less alike were due soon: others of the family, or those for which the like
 * of its waiter waited. That tells something only if a waiter is late. */
static bool is_far_for_its_waiter(const struct thrum__search *search, uint32_t task, int64_t left)
{
	const struct thrum__peer *family = thrum__why_peers_family(&search->peers, task);
	uint32_t waiter = thrum__why_peers_waiter(search->model, task);
	const struct thrum__dues *awaits;

	if (!is_late_behind(search, task))
		return false;
	awaits = thrum__why_peers_awaits(&search->peers, waiter);
	return (family && is_far(&family->dues, left)) || (awaits && is_far(awaits, left));
}

bool thrum__why_took_less(const struct thrum__search *search, uint32_t task, int64_t due)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

	return peer && peer->ended >= FAR_PEERS && (due - search->model->end) / FAR > peer->longest;
}

/* Whether a task just sleeps, as in nanosleep() or thrum_sleep(), and doesn't limit another wait by that.
 * Programs often sleep through one function, for short and long times. Its label tells for how long it was
 * asked to, so others that were asked for another time aren't like it. */
static bool is_plain_sleep(const struct thrum__model *model, uint32_t timer)
{
	uint32_t waiter = thrum__why_peers_waiter(model, timer);

	return waiter != THRUM__NONE && THRUM__TASK(model, waiter, kind) != THRUM_KIND_CHOOSE &&
		(thrum__why_is_in_call(model, timer) || THRUM__BEGINS_WITH(model, timer, "sleep "));
}

/* Whether a timer's peers took so little time that it can't be meant to be due so late. */
static bool is_too_late(const struct thrum__search *search, uint32_t task, int64_t due)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	int64_t left = due - search->model->end;

	if (left < FAR_MIN || is_plain_sleep(search->model, task))
		return false;
	/* Timeouts are mostly cancelled, so it counts when they were due, too. */
	return thrum__why_took_less(search, task, due) || (peer && is_far(&peer->dues, left)) ||
		is_far_for_its_waiter(search, task, left);
}

/* Whether the thread of a timer has not waited for anything since that was due. */
static bool is_busy_since(const struct thrum__model *model, uint32_t task, int64_t due)
{
	uint32_t lane = THRUM__TASK(model, task, lane);

	return lane < model->lane_count && model->lanes[lane].suspended == THRUM__NONE &&
		thrum__why_last_turn(model, lane, model->suspensions.count) <= due;
}

bool thrum__why_is_running_timer(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t due = thrum__why_due_of(model, task);

	if (due >= 0)
		return due >= thrum__why_end_of(model, task) -
				(is_busy_since(model, task, due) ? SLACK_BUSY : SLACK) &&
			!is_too_late(search, task, due);
	return THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER;
}

/* Whether a timer doesn't come as it is put off again and again: it was due often, each time later, for
 * far longer than it takes. Sets *times to how often. A connection's idle timer is meant to be. */
bool thrum__why_is_put_off(const struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t *times)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t leaf = path->leaf, note = THRUM__TASK(model, leaf, note);
	int64_t takes = INT64_MAX, due = thrum__why_due_of(model, leaf);

	*times = 0;
	if (due < 0 || path->length < 2 || path->reached != THRUM__NONE ||
		THRUM__TASK(model, leaf, kind) != THRUM_KIND_TIMER ||
		thrum__analyse_graph_waits(&search->graph, last->task).count != 1)
		return false;
	for (uint32_t i = 0; i < path->length; i++)
		if (thrum__why_is_lasting(model, path->links[i].task))
			return false;
	for (; *times < THRUM__PUT_OFF && thrum__model_has_row(&model->notes, note);
		note = THRUM__NOTE(model, note, prev)) {
		int64_t after;

		if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
			continue;
		/* It came in between. */
		if (THRUM__NOTE(model, note, value) > due)
			return false;
		due = THRUM__NOTE(model, note, value);
		after = due - THRUM__NOTE(model, note, time);
		takes = after < takes ? after : takes;
		++*times;
	}
	return *times == THRUM__PUT_OFF && (model->end - last->wait.since) / PUT_OFF_TIMES > takes;
}

/* Whether a timer never says when it is due, and nothing happens any more: it was never set. The
 * victim's like ended long ago. */
static bool is_unset(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, path->victim);
	const struct thrum__peer *family = thrum__why_peers_family(&search->peers, path->victim);
	int64_t age = model->end - THRUM__TASK(model, path->victim, created);

	if (!search->is_silent || THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_TIMER ||
		thrum__why_due_of(model, path->leaf) >= 0)
		return false;
	return (peer && peer->ended >= UNSET_PEERS && age / UNSET_TIMES > peer->longest) ||
		(family && family->ended >= UNSET_PEERS && age / UNSET_TIMES > family->longest);
}

bool thrum__why_is_broken_timer(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t times;

	return thrum__why_is_put_off(search, path, &times) || is_unset(search, path) ||
		thrum__why_stopped_leaf(search, path).timer != THRUM__NONE;
}
