/* SPDX-License-Identifier: ISC */
/* Tells a path as the steps of a finding: the cause first, then those that wait behind it. */
#include <string.h>

#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/stuck/stuck.h"

#define NAMED 6        /* waits nearest the leaf that are looked at for tasks to name */
#define FORMER 4       /* tasks that became one after the other */
#define LOOK_BACK 1024 /* edges of a task that are searched, from the latest back */

/* ---- The cause ----------------------------------------------------------------------------- */

static void add_pending(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t task, const struct thrum__why_link *last)
{
	const struct thrum__model *model = search->model;
	bool is_old = THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE;
	int64_t due = thrum__why_due_of(model, task);
	struct thrum__step *step = thrum__why_add_step(finding,
		due > model->end ? THRUM__STEP_DUE_LATE : THRUM__STEP_PENDING, task, THRUM__NONE,
		is_old && last ? last->wait.since : THRUM__TASK(model, task, created), THRUM__NONE);

	if (!step || due < step->time)
		return;
	step->more = due <= model->end || !thrum__why_took_less(search, task, due);
	if (due <= model->end)
		step->until = due;
}

/* Whether the path's leaf has no answer, and a run that doesn't end began before: the answer may be
 * left to its lane, which can do nothing else. */
static bool is_hogged(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;

	return search->endless != THRUM__NONE && path->tries == 0 &&
		THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST &&
		search->endless_since <= THRUM__TASK(model, path->leaf, created);
}

bool thrum__why_is_leaf_gone(const struct thrum__model *model, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t on = last && !last->wait.is_link ? last->wait.on : path->leaf;
	int flags = THRUM__TASK(model, on, flags);

	return model->has_live && !(flags & THRUM__TASK_LIVE) && flags & THRUM__TASK_PREEXISTING;
}

/* Adds a step for the path's last wait. */
static void add_wait(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t on = last->wait.is_link ? path->leaf : last->wait.on;
	struct thrum__step *step = thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, last->task,
		on, last->wait.since, last->wait.edge);

	if (thrum__why_is_leaf_gone(model, path))
		thrum__why_set_more(step, 1);
}

/* Adds steps for a message that nobody receives. */
static void add_lost(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path, const struct thrum__lost *lost)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (lost->wait != THRUM__NONE && last->task != lost->receiver)
		thrum__why_add_at(finding, model, THRUM__STEP_WAITS_FOR, lost->receiver,
			THRUM__EDGE(model, lost->wait, to), lost->wait);
	thrum__why_add_step(finding, THRUM__STEP_LOST_MESSAGE, lost->sender, lost->receiver,
		lost->time, THRUM__NONE);
}

void thrum__why_add_failure(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task)
{
	thrum__why_add_step(finding, THRUM__STEP_FAILED_MEANWHILE, task, THRUM__NONE,
		THRUM__TASK(model, task, end), thrum__why_edge_to(model, task, THRUM__EDGE_FAIL));
}

/* Adds a step for the last request of the loop that doesn't read what is unread, if it failed: its
 * callback may have left out to go on. Or for the loop's only timer, where the program stopped to read. */
static void add_failed_last(struct thrum__finding *finding, struct thrum__search *search,
	uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = THRUM__TASK(model, leaf, lane), task, timer;

	if (!THRUM__BEGINS_WITH(model, leaf, "unread data of", "data so far unread of"))
		return;
	task = thrum__why_failed_last(model, lane);
	if (task != THRUM__NONE) {
		thrum__why_add_failure(finding, model, task);
		return;
	}
	timer = strstr(thrum__model_task_name(model, leaf, NULL), "left since bufferevent_disable")
		? thrum__why_only_timer(search, lane)
		: THRUM__NONE;
	if (timer != THRUM__NONE)
		thrum__why_add_again(finding, model, timer, leaf, 1);
}

/* Adds a step if another task stopped the path's leaf, the timer that limits the wait for it, or the one by
 * which it tries again. Returns whether it was the leaf. */
static bool add_stopped(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct thrum__why_stopped stopped = thrum__why_stopped_leaf(search, path);
	bool rests = stopped.timer != THRUM__NONE, is_limit = false;

	if (!rests && finding->class == THRUM__FINDING_OUTSIDE) {
		stopped = thrum__why_stopped_limit(search->model, path);
		is_limit = stopped.timer != THRUM__NONE;
		if (!is_limit)
			stopped = thrum__why_stopped_retry(search, path);
	}
	if (stopped.timer != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_CANCELLED_MEANWHILE,
					    stopped.timer, stopped.by, stopped.time, stopped.edge),
			!is_limit);
	return rests;
}

/* Adds steps for a leaf that has no answer: why that doesn't come, as far as it is known. Returns false if it
 * is no such leaf, or the program itself is to blame. */
static bool add_unanswered(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t timer = thrum__why_last_timer(search, path);
	uint32_t note = thrum__why_unlogged(search, path);
	uint32_t reader = path->tries == 0 ? thrum__why_idle_reader(search, path->leaf)
					   : THRUM__NONE;

	if (reader != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_READS_NO_MORE, reader, path->leaf,
			THRUM__TASK(model, reader, last), THRUM__NONE);
	else if (is_hogged(search, path))
		thrum__why_add_step(finding, THRUM__STEP_HOGS, search->endless, path->leaf,
			search->endless_since, THRUM__NONE);
	else if (timer != THRUM__NONE)
		thrum__why_add_again(finding, model, timer, path->leaf, 1);
	else if (note != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_DOESNT_LOG,
					    thrum__why_path_last(path)->task,
					    THRUM__NOTE(model, note, task),
					    thrum__why_path_last(path)->wait.since, THRUM__NONE),
			note);
	else if (finding->class != THRUM__FINDING_OUTSIDE)
		return false;
	else
		thrum__why_add_busy_loop(finding, search, path->leaf);
	if (finding->step_count == 0)
		thrum__why_add_logged_there(finding, search, path);
	if (finding->step_count == 0 && path->tries == 0 &&
		finding->class == THRUM__FINDING_OUTSIDE &&
		THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST)
		(void)thrum__why_add_steady_ender(finding, search, path);
	add_pending(finding, search, path->leaf, thrum__why_path_last(path));
	if (path->handle != THRUM__NONE)
		thrum__why_add_silent(finding, search, path->handle, path->leaf,
			THRUM__TASK(model, path->leaf, created));
	return true;
}

/* Adds a step for the turn that got the leaf's question and sent nothing. Returns whether there is one. */
static bool add_no_reply(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_unreplied unreplied;

	if (last && thrum__why_no_pair_reply(search, last, &unreplied)) {
		if (unreplied.failed != THRUM__NONE)
			thrum__why_add_failure(finding, search->model, unreplied.failed);
		if (unreplied.failed != unreplied.step.task)
			finding->steps[finding->step_count++] = unreplied.step;
		return true;
	}
	return thrum__why_no_reply(search, path->leaf, &finding->steps[finding->step_count]) &&
		++finding->step_count > 0;
}

/* Whether the finding tells already who left the answer out. */
static bool has_left_out(const struct thrum__finding *finding)
{
	return finding->step_count > 0 &&
		finding->steps[finding->step_count - 1].kind == THRUM__STEP_LEAVES_OUT;
}

/* Adds steps for the path's last wait: who should end it, and that wait itself. */
static void add_last_wait(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (last->is_served) {
		thrum__why_add_server(finding, model, last);
		return;
	}
	if (last->wait.next == THRUM__NONE && thrum__why_is_lock(search, path->leaf))
		thrum__why_add_lock(finding, search, path);
	else if (thrum__why_is_held(&last->wait))
		thrum__why_add_holders(search, finding, last->wait.on, last->wait.next);
	else if (!has_left_out(finding) && !thrum__why_add_loop_within(finding, search, path) &&
		thrum__analyse_task_is_object(model, path->leaf) &&
		!thrum__why_add_left_taker(finding, search, path))
		thrum__why_add_servers(finding, search, path);
	add_wait(finding, model, path);
	if (THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_CONDITION)
		thrum__why_add_held(finding, search, last->task);
}

/* If the path's last task waits for what its own loop is to run, adds a step for that. */
static void add_own_turn(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__why_own_turn(search, path), ready;

	if (task == THRUM__NONE)
		return;
	ready = thrum__why_edge_to(model, task, THRUM__EDGE_READY);
	thrum__why_add_at(finding, model, THRUM__STEP_NEEDS_LANE, task,
		model->lanes[thrum__why_last_lane(model, thrum__why_path_last(path)->task)].task,
		ready);
}

/* The cause, as far as it is known before it is told. */
struct cause {
	struct thrum__why_missed missed;
	struct thrum__why_blame blame;
};

/* Adds the finding's first steps. Returns how many of the path's waits they cover, from the end. */
static unsigned add_cause(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path, const struct cause *cause)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__lost *lost = thrum__why_lost_of(search, path);
	uint32_t times;

	if (cause->missed.signal != THRUM__NONE) {
		thrum__why_add_missed(finding, model, path, &cause->missed);
		return (unsigned)(&path->links[path->length] - cause->missed.by);
	}
	if (thrum__why_is_put_off(search, path, &times)) {
		finding->count = times;
		thrum__why_add_step(finding, THRUM__STEP_PUT_OFF, path->leaf, THRUM__NONE,
			last->wait.since, THRUM__NONE);
		return 0;
	}
	if (add_stopped(finding, search, path) || add_unanswered(finding, search, path))
		return 0;
	if (lost)
		add_lost(finding, model, path, lost);
	else if (finding->step_count == 0 && !add_no_reply(finding, search, path) &&
		!(cause->blame.kind == THRUM__STEP_NOT_STARTED &&
			thrum__why_add_given_in_vain(finding, search, path)))
		thrum__why_add_blame_and_failure(finding, model, &cause->blame);
	if (finding->step_count == 0 && !thrum__why_add_own_queue(finding, search, path))
		add_own_turn(finding, search, path);
	if (finding->step_count == 0 && thrum__why_is_seen(model, path->leaf))
		add_failed_last(finding, search, path->leaf);
	else if (finding->step_count == 0 &&
		(last ? last->wait.next != THRUM__NONE
		      : THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_HANDLE))
		thrum__why_add_unusual(finding, search, path);
	thrum__why_add_unread(finding, search, path);
	if (!last)
		return 0;
	add_last_wait(finding, search, path);
	return 1;
}

/* ---- Those behind it ----------------------------------------------------------------------- */

/* Whether the task has a name, and the step before names another. */
static bool is_named_anew(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task)
{
	uint32_t before = finding->steps[finding->step_count - 1].task;
	const char *name = thrum__model_task_name(model, task, NULL);

	return *name && strcmp(name, thrum__model_task_name(model, before, NULL)) != 0;
}

void thrum__why_tell_between(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path, uint32_t from)
{
	const struct thrum__model *model = search->model;
	uint32_t victim = thrum__model_heir(model, path->victim);

	for (uint32_t i = from; i > 0 && path->length - i < NAMED; i--) {
		const struct thrum__why_link *link = &path->links[i - 1];

		if (finding->step_count + 2 >= THRUM__STEPS_MAX)
			return;
		if (link->is_served) {
			thrum__why_add_server(finding, model, link);
			continue;
		}
		if (thrum__why_is_held(&link->wait))
			thrum__why_add_holders(search, finding, link->wait.on, link->wait.next);
		if (link->task != victim &&
			(finding->step_count == 0 || is_named_anew(model, finding, link->task)))
			thrum__why_add_step(finding, THRUM__STEP_BEHIND, link->task, link->wait.on,
				link->wait.since, link->wait.edge);
	}
}

/* Whether a task is another one, or became it, under one name. */
static bool is_same_for_people(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	return thrum__model_heir(model, a) == thrum__model_heir(model, b) &&
		strcmp(thrum__model_task_name(model, a, NULL),
			thrum__model_task_name(model, b, NULL)) == 0;
}

bool thrum__why_is_told(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task)
{
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		switch (step->kind) {
		case THRUM__STEP_WAITS_FOR:
		case THRUM__STEP_WAITS_LATE:
		case THRUM__STEP_PENDING:
		case THRUM__STEP_DUE_LATE:
		case THRUM__STEP_PUT_OFF:
			if (is_same_for_people(model, step->task, task))
				return true;
			break;
		default: break;
		}
	}
	return false;
}

void thrum__why_tell_victim(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *first = path->length > 0 ? &path->links[0] : NULL;

	if (thrum__why_is_told(model, finding, path->victim))
		return;
	if (path->is_marked || !first) {
		thrum__why_add_step(finding, THRUM__STEP_NEVER_RESOLVED, path->victim, THRUM__NONE,
			first ? first->wait.since : THRUM__TASK(model, path->victim, last),
			first ? first->wait.edge : THRUM__NONE);
		return;
	}
	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].task == first->task &&
			finding->steps[i].kind != THRUM__STEP_HOLDS &&
			finding->steps[i].kind != THRUM__STEP_SERVES)
			return;
	thrum__why_add_step(finding, THRUM__STEP_BEHIND, first->task, first->wait.on,
		first->wait.since, first->wait.edge);
}

/* Adds a step for the latest task that waits for a victim which itself waits for nothing. Others may have
 * begun to wait for it as `was`, a task that became it. Returns whether there is one. */
static bool add_waiter(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task, uint32_t was, unsigned depth)
{
	THRUM__EDGES_TO (model, was, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_BECOME && depth > 0 &&
			thrum__model_has_row(&model->tasks, from) &&
			add_waiter(finding, model, task, from, depth - 1))
			return true;
		if (kind != THRUM__EDGE_WAIT || !thrum__analyse_task_is_pending(model, from) ||
			from == task)
			continue;
		thrum__why_add_at(finding, model, THRUM__STEP_BEHIND, from, task, edge);
		return true;
	}
	return false;
}

/* ---- Circles through objects --------------------------------------------------------------- */

/* Adds a step for the only timer of a loop in a circle, if it wasn't started again: its work may be what the
 * others wait for. */
static void add_circle_timer(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = path->circle; i < path->length; i++) {
		const struct thrum__why_link *link = &path->links[i];
		uint32_t lane = link->is_served ? THRUM__NONE
						: thrum__why_last_lane(model, link->task);
		uint32_t timer = lane == THRUM__NONE ? lane : thrum__why_only_timer(search, lane);

		if (timer != THRUM__NONE) {
			thrum__why_add_again(finding, model, timer, link->task, 1);
			return;
		}
	}
}

/* Adds the waits of a circle: each task waits for the next, or for an object that the next alone
 * serves. If a signal got lost, the wait that missed it comes first. */
static void add_circle(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path, const struct thrum__why_missed *missed)
{
	const struct thrum__model *model = search->model;
	uint32_t length = path->length - path->circle, first = 0, skipped = 0;

	if (missed->signal != THRUM__NONE) {
		thrum__why_add_missed(finding, model, path, missed);
		first = (uint32_t)(missed->by - path->links) - path->circle;
		skipped = 1;
	}
	if (skipped == 0) {
		thrum__why_add_circle_leaver(finding, search, path);
		thrum__why_add_circle_limit(finding, search, path);
	}
	for (uint32_t i = path->circle; i < path->length && skipped == 0; i++)
		if (!path->links[i].is_served &&
			thrum__why_add_newcomers(finding, search, &path->links[i], THRUM__OPEN))
			break;
	for (uint32_t i = skipped; i < length; i++) {
		const struct thrum__why_link *link =
			&path->links[path->circle + (first + i) % length];

		if (link->is_served) {
			thrum__why_add_server(finding, model, link);
			continue;
		}
		finding->count++;
		thrum__why_add_step(finding, THRUM__STEP_WAITS_IN_CYCLE, link->task, link->wait.on,
			link->wait.since, link->wait.edge);
		if (thrum__why_is_held(&link->wait))
			thrum__why_add_holders(search, finding, link->wait.on, link->wait.next);
	}
	add_circle_timer(finding, search, path);
}

/* ---- The finding --------------------------------------------------------------------------- */

/* Whether a wait of a circle has a time limit, so that the circle doesn't last. */
static bool is_timed_circle(const struct thrum__model *model, const struct thrum__why_path *path)
{
	for (uint32_t lane = 0; lane < model->lane_count && path->circle != THRUM__NONE; lane++) {
		uint32_t task = thrum__why_timed_task(model, lane);

		for (uint32_t i = path->circle; i < path->length && task != THRUM__NONE; i++)
			if (path->links[i].task == task)
				return true;
	}
	return false;
}

/* Finds a signal that woke another task than one of the path that waits for it, or than one that may be
 * to end the path's last wait. */
static bool find_wake(const struct thrum__search *search, const struct thrum__why_path *path,
	struct thrum__why_wake *wake)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = path->length; i-- > 0;) {
		const struct thrum__why_link *link = &path->links[i];

		if (!link->is_served &&
			THRUM__TASK(model, link->wait.on, kind) == THRUM_KIND_CONDITION &&
			thrum__why_single_wake(search, link->wait.on, link->task, link->wait.since,
				wake))
			return true;
	}
	return thrum__why_taken_wake(search, path, wake) ||
		thrum__why_passed_over(search, path, wake) ||
		thrum__why_unheard_call(search, path, wake);
}

/* Adds steps for such a signal. */
static void add_wake(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_wake wake;
	struct thrum__step *step;
	uint32_t condition, waits_on;

	if (finding->step_count + 2 > THRUM__STEPS_MAX || !find_wake(search, path, &wake))
		return;
	condition = THRUM__EDGE(model, wake.signal, to);
	step = thrum__why_add_step(finding, THRUM__STEP_WAKES_ONE,
		thrum__why_known(model, THRUM__EDGE(model, wake.signal, from)), condition,
		THRUM__EDGE(model, wake.signal, time), wake.signal);
	thrum__why_set_more(step, (uint32_t)thrum__model_waiters(model, wake.signal));
	waits_on = wake.again == THRUM__NONE ? condition : THRUM__EDGE(model, wake.again, to);
	step = thrum__why_add_step(finding, THRUM__STEP_WOKEN_INSTEAD, wake.task, waits_on,
		wake.again == THRUM__NONE ? THRUM__TASK(model, wake.task, end)
					  : THRUM__EDGE(model, wake.again, time),
		wake.again);
	thrum__why_set_more(step, waits_on != condition);
}

static void tell_path(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path, const struct cause *cause)
{
	const struct thrum__model *model = search->model;
	unsigned covered;

	if (cause->missed.signal == THRUM__NONE &&
		!thrum__why_add_lapsed(finding, model, path->leaf) &&
		!thrum__why_add_unreadied(finding, search, path))
		add_wake(finding, search, path);
	if (path->circle != THRUM__NONE) {
		add_circle(finding, search, path, &cause->missed);
		return;
	}
	if (path->tries > 0) {
		bool is_failed = THRUM__TASK(model, path->tried, state) == THRUM__STATE_FAILED;

		finding->count = path->tries;
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_FAILS_AGAIN,
					    path->tried, thrum__model_heir(model, path->victim),
					    is_failed ? THRUM__TASK(model, path->tried, end)
						      : THRUM__TASK(model, path->tried, created),
					    THRUM__NONE),
			!is_failed);
	}
	covered = add_cause(finding, search, path, cause);
	thrum__why_add_skipped(finding, search, path);
	thrum__why_tell_between(finding, search, path, path->length - covered);
	thrum__why_tell_victim(finding, search, path);
	if (path->length == 0)
		add_waiter(finding, model, path->leaf, path->leaf, FORMER);
}

/* Whether the path leads to a lock that nobody holds, but a gap may hide that somebody does. */
static bool is_holder_lost(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	return last && last->wait.next == THRUM__NONE &&
		search->gap > THRUM__TASK(search->model, path->leaf, created);
}

/* Whether the one that always answered requests like this one has ended: so it was part of the program. */
static bool is_deserted(struct thrum__search *search, uint32_t leaf)
{
	uint32_t ender = THRUM__TASK(search->model, leaf, kind) == THRUM_KIND_REQUEST
		? thrum__why_steady_ender(search, leaf)
		: THRUM__NONE;

	return ender != THRUM__NONE && !thrum__analyse_task_is_pending(search->model, ender);
}

/* Whether the adapters saw that a thread closed what another one had opened, and knew of no way by which it
 * had heard of that. It may have, by an atomic. */
static bool is_closed_twice(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "events of") &&
		strstr(thrum__model_task_name(model, task, NULL), ", whose number was closed by ");
}

static int class_of(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t signal)
{
	const struct thrum__lost *lost = thrum__why_lost_of(search, path);
	struct thrum__why_wake wake;
	int64_t since;
	uint32_t times;

	if (signal != THRUM__NONE)
		return THRUM__FINDING_LOST_WAKE_UP;
	/* Nobody need wait for the wrong one where a signal woke too few. */
	if (path->circle != THRUM__NONE)
		return find_wake(search, path, &wake) ? THRUM__FINDING_NEVER_RESOLVED
						      : THRUM__FINDING_DEADLOCK;
	/* It waited for something that has come, or for a task of the program. */
	if ((lost &&
		    (lost->wait != THRUM__NONE ||
			    thrum__analyse_task_is_pending(search->model, lost->receiver))) ||
		thrum__why_ended_source(search, path->leaf, &since) != THRUM__NONE ||
		is_hogged(search, path) || thrum__why_is_put_off(search, path, &times) ||
		thrum__why_stopped_leaf(search, path).timer != THRUM__NONE ||
		(THRUM__TASK(search->model, path->leaf, kind) == THRUM_KIND_HANDLE &&
			thrum__why_dropped(search, path->leaf).task != THRUM__NONE) ||
		thrum__why_last_timer(search, path) != THRUM__NONE ||
		thrum__why_keeps_join(search, path) ||
		thrum__why_unlogged(search, path) != THRUM__NONE ||
		thrum__why_covers_loop(search->model, path->leaf) ||
		(path->tries == 0 &&
			(is_deserted(search, path->leaf) ||
				thrum__why_idle_reader(search, path->leaf) != THRUM__NONE)))
		return THRUM__FINDING_NEVER_RESOLVED;
	/* The program itself keeps a handle that nobody waits for. */
	return thrum__why_ends_by_itself(search->model, path->leaf) && path->tries == 0 &&
			(path->length > 0 ||
				THRUM__TASK(search->model, path->leaf, kind) != THRUM_KIND_HANDLE)
		? THRUM__FINDING_OUTSIDE
		: THRUM__FINDING_NEVER_RESOLVED;
}

/* The finding that tells of the end of the task that is to blame, with room for more steps: the
 * path belongs to it. NULL if there is none. */
static struct thrum__finding *finding_about(const struct thrum__search *search,
	const struct thrum__why_blame *blame)
{
	if (blame->kind != THRUM__STEP_FAILED && blame->kind != THRUM__STEP_CANCELLED)
		return NULL;
	for (uint32_t i = 0; i < search->findings->count; i++) {
		struct thrum__finding *finding = &search->findings->findings[i];

		if (finding->steps[0].kind == blame->kind &&
			finding->steps[0].task == blame->task &&
			finding->step_count + 3 <= THRUM__STEPS_MAX)
			return finding;
	}
	return NULL;
}

/* The signal that was lost before a wait of the path. None was where those that served the leaf came again
 * and again, until one of them failed or set no timer, nor where a queue lacks room: nobody waited for that
 * before; nor where the next signal has only to get its turn. */
static struct thrum__why_missed find_missed(struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct thrum__why_missed missed = thrum__why_missed_signal(search, path);
	struct thrum__why_servers servers;

	if (missed.signal == THRUM__NONE || path->circle != THRUM__NONE)
		return missed;
	thrum__why_servers_of(search->model, path->leaf, thrum__why_path_last(path)->task,
		&servers);
	if (thrum__why_have_ceased(search, path, &servers) ||
		thrum__why_own_turn(search, path) != THRUM__NONE ||
		thrum__why_add_unarmed(NULL, search, thrum__why_path_last(path), &servers) ||
		thrum__why_lacks_room(search, path, &servers))
		missed.signal = THRUM__NONE;
	return missed;
}

uint32_t thrum__why_tell(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t subject, int certainty)
{
	const struct thrum__model *model = search->model;
	struct cause cause = {find_missed(search, path), THRUM__WHY_NO_BLAME};
	int class = class_of(search, path, cause.missed.signal);
	struct thrum__finding *finding = NULL;

	if (class == THRUM__FINDING_NEVER_RESOLVED) {
		cause.blame = thrum__analyse_task_is_object(model, path->leaf)
			? thrum__why_blame_unserved(search, path)
			: thrum__why_blame(search, path->leaf, THRUM__OPEN);
		finding = finding_about(search, &cause.blame);
	}
	if (!finding)
		finding = thrum__why_add(search, class, certainty, subject);
	else if (finding->certainty < certainty)
		finding->certainty = (uint8_t)certainty;
	if (!finding)
		return THRUM__CAUSE_HEALTHY;
	if (cause.missed.signal != THRUM__NONE && path->is_marked && path->circle == THRUM__NONE)
		finding->certainty = (uint8_t)thrum__why_missed_certainty(search, path,
			cause.missed.signal);
	tell_path(finding, search, path, &cause);
	if (thrum__why_is_unsure(search, path->victim) ||
		thrum__why_is_unsure(search, path->leaf) ||
		THRUM__TASK(model, path->leaf, flags) & THRUM__TASK_PREEXISTING ||
		thrum__analyse_task_is_running(model, path->leaf) || is_holder_lost(search, path) ||
		thrum__why_last_timer(search, path) != THRUM__NONE ||
		thrum__why_stopped_leaf(search, path).timer != THRUM__NONE ||
		(path->is_guessed && (path->circle != THRUM__NONE || !path->is_marked)) ||
		is_timed_circle(model, path) || thrum__why_came_before(model, path->leaf) ||
		thrum__why_may_be_gone(model, path->leaf) || is_closed_twice(model, path->leaf))
		finding->certainty = THRUM__POSSIBLE;
	return (uint32_t)(finding - search->findings->findings);
}
