/* SPDX-License-Identifier: ISC */
/*
 * Tells something unusual that happened while the leaf of a path was pending, if nothing else explains why
 * that doesn't end.
 */
#include "analyse/why/unusual/unusual.h"
#include "base/time.h"

#define NEARLY 20 /* of a wait's time, so much before it counts, too */

/* The functions up to the table add a step for one sort of cause each. They return whether that is it. */

/* The leaf was made ready behind a task that then was made ready again. */
static bool add_readied_again(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = thrum__why_readied_again(search, path->leaf);

	if (edge == THRUM__NONE)
		return false;
	thrum__why_add_at(finding, model, THRUM__STEP_READIED_AGAIN, THRUM__EDGE(model, edge, to),
		thrum__why_actor(model, edge), edge);
	return true;
}

/* Those like the leaf are made ready one after the other, and the last one had ended. */
static bool add_woken_dead(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = thrum__why_woken_dead(search, path->leaf);

	if (edge == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_WOKEN_INSTEAD,
				    THRUM__EDGE(model, edge, to), path->leaf,
				    THRUM__EDGE(model, edge, time), edge),
		3);
	return true;
}

/* A thread ended, and left the leaf. */
static bool add_abandoner(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t count,
		task = finding->step_count < THRUM__STEPS_MAX
		? thrum__why_abandoner(search, path->leaf, &count)
		: THRUM__NONE;

	if (task == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_end(finding, search->model, THRUM__STEP_ABANDONS, task,
				    path->leaf),
		count);
	return true;
}

/* A request of the leaf's loop led to nothing. */
static bool add_dropped(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_dropped dropped = thrum__why_dropped(search, path->leaf);
	bool is_child = dropped.like == THRUM__NONE;

	if (dropped.task == THRUM__NONE || finding->step_count == THRUM__STEPS_MAX)
		return false;
	thrum__why_set_more(thrum__why_add_end(finding, model,
				    is_child ? THRUM__STEP_FAILED_MEANWHILE
					     : THRUM__STEP_BEGINS_NOTHING,
				    dropped.task, dropped.like),
		THRUM__TASK(model, dropped.task, state) == THRUM__STATE_FAILED);
	return true;
}

/* The thread at the end of the path gave a task to a loop that nobody runs. */
static bool add_unrun(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	bool is_thread = !last || THRUM__TASK(search->model, path->leaf, kind) == THRUM_KIND_THREAD;
	uint32_t thread = is_thread ? path->leaf : last->task, task;
	const struct thrum__analyse_wait *wait = thrum__why_unrun(search, thread, &task);

	if (wait)
		thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, wait->on, wait->since,
			wait->edge);
	return wait != NULL;
}

/* A handle keeps the leaf's loop, whether or not it is known which one. */
static bool add_left_open(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t task;

	if (!thrum__why_is_loop(search, path->leaf))
		return false;
	task = thrum__why_left_open(search, path->leaf);
	if (task != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_LEFT_OPEN, task, path->leaf,
			THRUM__TASK(search->model, task, created), THRUM__NONE);
	return true;
}

/* The task for which the leaf waited has ended, and the leaf didn't notice. */
static bool add_ended_source(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	int64_t since;
	uint32_t task = thrum__why_ended_source(search, path->leaf, &since);
	struct thrum__why_blame blame;

	if (task == THRUM__NONE)
		return false;
	blame = thrum__why_blame_ended(model, task, path->leaf);
	if (blame.kind != THRUM__STEP_ENDS_WITHOUT)
		thrum__why_add_blame(finding, model, &blame);
	thrum__why_add_end(finding, model, THRUM__STEP_ENDED_UNNOTICED, task, path->leaf);
	return true;
}

/* One task always ended those like the leaf, and doesn't go on. One that waits for the leaf itself only took
 * note of their ends, as did the loop that asks for an answer from outside. */
bool thrum__why_add_steady_ender(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t task = thrum__analyse_task_is_object(model, path->leaf)
		? THRUM__NONE
		: thrum__why_steady_ender(search, path->leaf);
	const struct thrum__analyse_wait *wait;

	if ((last && last->task == task) || !thrum__analyse_task_is_pending(model, task) ||
		!*thrum__model_task_name(model, task, NULL) ||
		(THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST &&
			(!thrum__analyse_task_is_lane(model, task) ||
				THRUM__TASK(model, task, lane) ==
					THRUM__TASK(model, path->leaf, lane))))
		return false;
	wait = thrum__why_wait_of(search, task);
	if (wait && wait->on != path->leaf && thrum__analyse_task_is_object(model, wait->on) &&
		thrum__why_is_blocked(model, task, wait))
		thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, wait->on, wait->since,
			wait->edge);
	thrum__why_add_step(finding, THRUM__STEP_SHOULD_GO_ON, task, path->leaf,
		THRUM__TASK(model, path->leaf, created), THRUM__NONE);
	return true;
}

/* A thread ran the leaf last, and didn't hand it on. */
static bool add_ran_last(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__why_ran_last(search, path->leaf);

	if (task == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_SHOULD_GO_ON, task, path->leaf,
				    THRUM__RUN(model, THRUM__TASK(model, path->leaf, run), start),
				    THRUM__NONE),
		1);
	return true;
}

/* The leaf was handed to a task, which has dropped it, or has ended since. */
static bool add_handed(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t task = thrum__why_handed_to(search, path->leaf);
	struct thrum__why_blame blame;

	if (task == THRUM__NONE)
		return false;
	if (!thrum__analyse_task_is_pending(search->model, task)) {
		blame = thrum__why_blame_ended(search->model, task, path->leaf);
		thrum__why_add_blame(finding, search->model, &blame);
		return true;
	}
	thrum__why_add_step(finding, THRUM__STEP_SHOULD_END, task, path->leaf,
		THRUM__TASK(search->model, path->leaf, created), THRUM__NONE);
	return true;
}

/* A task kept an item of the leaf that it should have put back, or took one that wasn't for it. */
static bool add_taker(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__step *step;
	uint32_t edge, task;
	bool is_kept, is_place;

	if (!last)
		return false;
	task = thrum__why_keeper_at(search, path->leaf, last->task, &edge);
	is_kept = task != THRUM__NONE;
	if (!is_kept)
		task = thrum__why_stranger_at(search, path->leaf, last->task, &edge);
	if (task == THRUM__NONE)
		return false;
	/* Without a name, the place of a keeper tells more than where it took that. */
	is_place = !is_kept || *thrum__model_task_name(search->model, task, NULL);
	step = thrum__why_add_step(finding, THRUM__STEP_TOOK, task, path->leaf,
		THRUM__EDGE(search->model, edge, time), is_place ? edge : THRUM__NONE);
	if (is_kept)
		thrum__why_set_more(step, 1);
	return true;
}

/* A task failed or was cancelled meanwhile. */
static bool add_failed(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__why_failed_meanwhile(search, path->leaf), edge;

	if (task == THRUM__NONE)
		return false;
	if (THRUM__TASK(model, task, state) == THRUM__STATE_FAILED) {
		thrum__why_add_failure(finding, model, task);
		return true;
	}
	edge = thrum__why_edge_to(model, task, THRUM__EDGE_CANCEL);
	thrum__why_add_step(finding, THRUM__STEP_CANCELLED_MEANWHILE, task,
		thrum__why_actor(model, edge), THRUM__TASK(model, task, end), edge);
	return true;
}

/* A task failed before, and no later try made up for it. */
static bool add_failed_before(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t since = last ? last->wait.since : THRUM__TASK(model, path->leaf, created);
	uint32_t task = thrum__why_failed_for_good(search, since);
	struct thrum__why_blame blame;

	if (task == THRUM__NONE)
		return false;
	blame = thrum__why_blame_ended(model, task, path->leaf);
	thrum__why_add_blame(finding, model, &blame);
	return true;
}

/* A task failed, and didn't begin the next try as those before. */
static bool add_last_try(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t since = last ? last->wait.since : THRUM__TASK(model, path->leaf, created);
	uint32_t next, task = thrum__why_last_try(search, since, &next);

	if (task == THRUM__NONE)
		return false;
	if (next == task)
		thrum__why_add_failure(finding, model, task);
	else
		thrum__why_set_more(thrum__why_add_end(finding, model, THRUM__STEP_BEGINS_NOTHING,
					    task, next),
			1);
	return true;
}

/* A worker left its queue. */
static bool add_leaver(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	struct thrum__why_leaver leaver = thrum__why_leaver_of(search, path->leaf);

	if (leaver.task == THRUM__NONE || finding->step_count == THRUM__STEPS_MAX)
		return false;
	thrum__why_set_more(thrum__why_add_end(finding, search->model, THRUM__STEP_LEFT_QUEUE,
				    leaver.task, leaver.queue),
		leaver.is_last);
	return true;
}

void thrum__why_add_circle_leaver(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t length = path->length - path->circle;

	for (uint32_t i = 0; i < length; i++) {
		const struct thrum__why_link *link = &path->links[path->circle + i];
		uint32_t leaver, next = i + 1;

		if (!link->is_served || thrum__analyse_task_is_object(model, link->task))
			continue;
		leaver = thrum__why_leaver_beside(search, link->wait.on,
			THRUM__TASK(model, link->task, created));
		if (leaver == THRUM__NONE)
			continue;
		while (next < i + length &&
			!thrum__analyse_task_is_object(model,
				path->links[path->circle + next % length].task))
			next++;
		if (next < i + length)
			thrum__why_add_end(finding, model, THRUM__STEP_LEFT_QUEUE, leaver,
				path->links[path->circle + next % length].task);
		return;
	}
}

/* One of several tasks was there whenever one like the leaf began, and now there is none. */
static bool add_gone_beginner(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t task = thrum__why_gone_beginner(search, path->leaf);

	if (task == THRUM__NONE)
		return false;
	thrum__why_add_end(finding, search->model, THRUM__STEP_BEGAN_OTHERS, task, path->leaf);
	return true;
}

/* Since when something may have to do with the path's last wait. */
static int64_t nearly_since(const struct thrum__model *model, const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t since = last && thrum__analyse_task_is_object(model, path->leaf)
		? last->wait.since
		: THRUM__TASK(model, path->leaf, created);

	return since - thrum__base_time_between(since, model->end) / NEARLY;
}

/* The only task that took items, before one that nobody takes, is gone. */
static void add_gone_taker(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t edge)
{
	uint32_t by = THRUM__NONE, task = thrum__why_gone_taker(model, edge, &by);

	if (task == THRUM__NONE)
		return;
	switch (THRUM__TASK(model, task, state)) {
	case THRUM__STATE_CANCELLED:
		thrum__why_add_end(finding, model, THRUM__STEP_CANCELLED, task, by);
		break;
	case THRUM__STATE_FAILED: thrum__why_add_failure(finding, model, task); break;
	default:
		thrum__why_set_more(thrum__why_add_end(finding, model, THRUM__STEP_LEFT_QUEUE, task,
					    THRUM__EDGE(model, edge, to)),
			1);
	}
}

void thrum__why_add_unread(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t edge, from;

	if (!last || finding->step_count == 0 || finding->step_count + 4 > THRUM__STEPS_MAX ||
		(finding->steps[0].kind != THRUM__STEP_RESOLVED_OTHERS &&
			finding->steps[0].kind != THRUM__STEP_SHOULD_GO_ON))
		return;
	edge = thrum__why_untaken(search, THRUM__TASK(model, path->leaf, created));
	from = thrum__why_actor(model, edge);
	if (from == last->task)
		thrum__why_add_at(finding, model, THRUM__STEP_UNTAKEN, from,
			THRUM__EDGE(model, edge, to), edge);
}

/* Nobody takes an item. */
static bool add_untaken(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = thrum__why_untaken(search, nearly_since(model, path));

	if (edge == THRUM__NONE || THRUM__EDGE(model, edge, to) == path->leaf)
		return false;
	if (!thrum__why_add_lapsed(finding, model, THRUM__EDGE(model, edge, to)))
		add_gone_taker(finding, model, edge);
	thrum__why_add_at(finding, model, THRUM__STEP_UNTAKEN,
		thrum__why_known(model, THRUM__EDGE(model, edge, from)),
		THRUM__EDGE(model, edge, to), edge);
	return true;
}

void thrum__why_add_unusual(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	/* The more telling ones come first. */
	if (!(last && last->is_served))
		(void)(add_readied_again(finding, search, path) ||
			add_woken_dead(finding, search, path) ||
			thrum__why_add_given_in_vain(finding, search, path) ||
			thrum__why_add_woken_in_vain(finding, search, path) ||
			add_abandoner(finding, search, path) ||
			add_dropped(finding, search, path) || add_unrun(finding, search, path) ||
			add_left_open(finding, search, path) ||
			add_ended_source(finding, search, path) ||
			thrum__why_add_unnoticed_end(finding, search, path) ||
			add_ran_last(finding, search, path) ||
			thrum__why_add_steady_ender(finding, search, path) ||
			add_handed(finding, search, path) || add_taker(finding, search, path) ||
			thrum__why_add_passed_over(finding, search, path->leaf) ||
			add_failed(finding, search, path) || add_leaver(finding, search, path) ||
			add_untaken(finding, search, path) ||
			add_gone_beginner(finding, search, path) ||
			thrum__why_add_amid(finding, search, path) ||
			thrum__why_add_stopped_timer(finding, search, path) ||
			thrum__why_add_never_ready(finding, search, path) ||
			thrum__why_add_untaken_permit(finding, search, path) ||
			thrum__why_add_newcomer(finding, search, path) ||
			thrum__why_add_logged(finding, search, nearly_since(search->model, path),
				THRUM__NONE) ||
			add_failed_before(finding, search, path) ||
			add_last_try(finding, search, path));
}
