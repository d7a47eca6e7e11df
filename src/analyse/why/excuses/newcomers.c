/* SPDX-License-Identifier: ISC */
/*
 * Tells whether somebody may serve an object next who never did so far: a thread that is new to it, or one
 * that waits for the outside.
 */
#include <string.h>

#include "analyse/why/candidates.h"
#include "analyse/why/excuses/excuses.h"
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024        /* edges of a task that are searched, from the latest back */
#define TRIES_MAX 10          /* so many tries in a row may be followed by one that succeeds */
#define LIVELY 500000000      /* ns; the last moments */
#define SUSPENSIONS_BACK 4096 /* suspensions that are searched for those of a lane */

bool thrum__why_is_untouched(const struct thrum__model *model, uint32_t object)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in);

	if (THRUM__TASK(model, object, kind) != THRUM_KIND_CONDITION &&
		THRUM__TASK(model, object, kind) != THRUM_KIND_SEMAPHORE)
		return false;
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ)
			return false;
	return edge == THRUM__NONE;
}

/* Whether nobody signalled an object so far, nor filled a pair of sockets. */
static bool is_new_to_all(const struct thrum__model *model, uint32_t object)
{
	return thrum__why_is_untouched(model, object) ||
		(THRUM__BEGINS_WITH(model, object, "socket ") &&
			thrum__why_edge_to(model, object, THRUM__EDGE_SIGNAL) == THRUM__NONE);
}

bool thrum__why_is_open_wait(const struct thrum__model *model, uint32_t row)
{
	return thrum__why_rests_for(model, row, THRUM__REASON_BLOCKED_OUTSIDE) ||
		thrum__why_rests_for(model, row, THRUM__REASON_WORK_OUTSIDE);
}

/* Whether a lane's thread waits for a time that is still to come, or for the outside. */
static bool is_outside(const struct thrum__search *search, const struct thrum__lane *lane,
	uint32_t thread)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, thread);
	uint32_t row = thrum__why_resting(model, lane);

	if (waits.count == 0)
		return thrum__why_is_open_wait(model, row) ||
			thrum__why_rests_for(model, row, THRUM__REASON_WORK);
	/* It may wait for one that waits for the program itself. */
	if (thrum__analyse_graph_waits(&search->graph, waits.waits[0].on).count > 0)
		return false;
	switch (THRUM__TASK(model, waits.waits[0].on, kind)) {
	case THRUM_KIND_TIMER: return thrum__why_is_running_timer(search, waits.waits[0].on);
	case THRUM_KIND_HANDLE: return true;
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_SEMAPHORE:
	case THRUM_KIND_CONDITION:
	case THRUM_KIND_STREAM: return thrum__why_is_open_wait(model, row);
	default: return false;
	}
}

/* Whether a lane has waited for a time, or for the outside, and gone on. */
static bool has_heard(const struct thrum__model *model, const struct thrum__lane *lane)
{
	uint32_t row = thrum__why_resting(model, lane);

	for (uint32_t i = 0; i < SUSPENSIONS_BACK; i++) {
		if (row == THRUM__NONE || row-- == 0)
			return false;
		if (!thrum__model_has_row(&model->suspensions, row))
			return true;
		if (&model->lanes[THRUM__SUSPENSION(model, row, lane)] == lane)
			return true;
	}
	return true;
}

/* The edge by which somebody signalled an object like this one; or NONE. Sets *is_known to whether all were
 * looked at. */
static uint32_t signal_of_like(struct thrum__search *search, uint32_t object, bool *is_known)
{
	const struct thrum__model *model = search->model;

	*is_known = false;
	THRUM__EACH_TASK (model, task) {
		if (!thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (thrum__analyse_task_is_object(model, task) && task != object &&
			thrum__why_is_alike(search, task, object) &&
			!thrum__why_is_untouched(model, task))
			return thrum__why_edge_to(model, task, THRUM__EDGE_SIGNAL);
	}
	*is_known = true;
	return THRUM__NONE;
}

/* Whether somebody has signalled an object like this one: those who did know such objects. Also if there
 * are too many tasks to tell. */
static bool is_like_signalled(struct thrum__search *search, uint32_t object)
{
	bool is_known;

	return signal_of_like(search, object, &is_known) != THRUM__NONE || !is_known;
}

/* Whether it is the program's first thread, or that waits for its end. Nobody but the program gives that a
 * job: it often waits for the program's end. */
static bool is_main(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t first = model->lane_count > 0 ? model->lanes[0].task : THRUM__NONE;
	struct thrum__analyse_waits waits;

	if (thread == first || !thrum__analyse_task_is_pending(model, first))
		return thread == first;
	waits = thrum__analyse_graph_waits(&search->graph, first);
	return waits.count > 0 && waits.waits[0].on == thread;
}

/* Whether a signal woke some thread in the last moments. */
static bool is_lively(const struct thrum__model *model)
{
	uint32_t edge = model->edges.count;

	while (edge-- > model->edges.first && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) > model->end - LIVELY)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			return true;
	return false;
}

/* Whether a thread waits for what nobody signalled so far, and nothing tells who should have done it. Then
 * those who wait for the outside may, however often something came from there: it needn't have been for this
 * one. */
static bool is_unasked(struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__why_servers none = {.is_whole = true};

	return THRUM__TASK(search->model, link->task, kind) == THRUM_KIND_THREAD &&
		thrum__why_is_untouched(search->model, link->wait.on) &&
		thrum__why_not_again(search, link, &none).kind < 0 &&
		(!is_like_signalled(search, link->wait.on) ||
			(is_main(search, link->task) && is_lively(search->model)));
}

/* Whether a thread began one that signalled an object and has ended: it may begin the next. */
static bool makes_servers(const struct thrum__model *model, uint32_t object, uint32_t thread)
{
	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		uint32_t task = thrum__why_actor(model, edge);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			thrum__model_has_row(&model->tasks, task) &&
			THRUM__TASK(model, task, creator) == thread &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
			!thrum__analyse_task_is_pending(model, task))
			return true;
	}
	return false;
}

/* Whether the thread of a lane, in the object's process, computes: no wait tells what it does. */
static bool is_computing(const struct thrum__search *search, const struct thrum__lane *lane,
	uint32_t thread, uint32_t object)
{
	const struct thrum__model *model = search->model;
	uint32_t own = THRUM__TASK(model, object, lane);

	return own < model->lane_count && lane->process == model->lanes[own].process &&
		lane->suspended == THRUM__NONE &&
		thrum__analyse_graph_waits(&search->graph, thread).count == 0;
}

/* Whether one that is missing at a barrier has ended: so it is known who should have come. */
static bool is_deserted(const struct thrum__search *search, const struct thrum__why_link *link)
{
	uint32_t absent[THRUM__ABSENT_MAX];
	unsigned missing = link ? thrum__why_absent(search, link->wait.on, link->task, absent) : 0;

	for (unsigned i = 0; i < missing; i++)
		if (!thrum__analyse_task_is_pending(search->model, absent[i]))
			return true;
	return false;
}

/* The latest message to a server from a thread of another sort than the waiter that may go on; or NONE. The
 * server may wait for one before it answers, as one of a queue does. */
static uint32_t last_told(const struct thrum__search *search, uint32_t thread, uint32_t server,
	const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, thread);
	uint32_t lane = thrum__why_last_lane(model, server);

	if (!link || thread == link->task || thread == server || lane == THRUM__NONE ||
		!THRUM__BEGINS_WITH(model, link->wait.on, "socket ") ||
		(waits.count > 0 && thrum__analyse_task_is_object(model, waits.waits[0].on)) ||
		thrum__why_are_named_alike(model, link->task, thread))
		return THRUM__NONE;
	return thrum__why_message_from(model, lane, THRUM__TASK(model, thread, edge_out), false);
}

/* Whether such a thread has told the server nothing since the wait began. */
static bool may_feed(const struct thrum__search *search, uint32_t thread, uint32_t server,
	const struct thrum__why_link *link)
{
	uint32_t told = last_told(search, thread, server, link);

	return told != THRUM__NONE && THRUM__EDGE(search->model, told, time) < link->wait.since;
}

bool thrum__why_has_other_clients(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t server = thrum__why_actor(model,
		thrum__why_edge_to(model, path->leaf, THRUM__EDGE_SIGNAL));

	if (server == THRUM__NONE)
		return false;
	THRUM__EACH_LANE (model, lane) {
		uint32_t thread = thrum__why_thread_of(model, lane);

		if (thrum__analyse_task_is_pending(model, thread) &&
			last_told(search, thread, server, last) != THRUM__NONE)
			return true;
	}
	return false;
}

/* Whether a thread may signal an object next: it waits for the outside, and began some that signalled it; or
 * the one that signalled it last has started that thread since. Or nobody signalled the object so far, and
 * nothing came to the thread from the outside, it computes, it is its turn, or it has signalled none so far
 * where others like it signalled objects like that. */
static bool has_new_thread(struct thrum__search *search, uint32_t object, bool is_unasked,
	struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	bool is_left = is_unasked && is_deserted(search, last);
	uint32_t signal = thrum__why_edge_to(model, object, THRUM__EDGE_SIGNAL);
	uint32_t server = thrum__why_actor(model, signal), like = THRUM__NONE;
	bool is_new = is_new_to_all(model, object), is_known;
	bool is_still = is_unasked && last && thrum__why_is_at_standstill(search, last);

	if (is_new)
		like = thrum__why_actor(model, signal_of_like(search, object, &is_known));
	for (uint32_t i = 0; (is_new || server != THRUM__NONE) && i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];
		uint32_t thread = thrum__why_thread_of(model, lane);
		bool computes;

		if (!thrum__analyse_task_is_pending(model, thread))
			continue;
		/* A barrier tells who is missing. */
		computes = !thrum__why_is_barrier(model, object) &&
			is_computing(search, lane, thread, object);
		if (!computes && !is_outside(search, lane, thread))
			continue;
		if ((is_left && thrum__why_ticks(search, lane, last->wait.since)) || is_still) {
			path->is_soon = true; /* it may still come */
			continue;
		}
		if (is_unasked || (is_new && thrum__why_is_next(search, thread, object)) ||
			(like != THRUM__NONE && thrum__why_is_alike(search, like, thread) &&
				!thrum__why_is_signaller(search, thread, object)))
			return true;
		if (computes)
			continue;
		if (is_new ? thrum__why_rests_for(model, thrum__why_resting(model, lane),
				     THRUM__REASON_BLOCKED_OUTSIDE) &&
					!has_heard(model, lane)
			   : makes_servers(model, object, thread) ||
					may_feed(search, thread, server, last) ||
					(THRUM__TASK(model, thread, creator) == server &&
						THRUM__TASK(model, thread, created) >=
							THRUM__EDGE(model, signal, time)))
			return true;
	}
	return false;
}

/* Whether a handle stands for a signal that a loop awaits, and that never came. */
static bool is_unheard_signal(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE &&
		THRUM__TASK(model, task, run) == THRUM__NONE &&
		THRUM__BEGINS_WITH(model, task, "signal");
}

/* The lane whose loop ran one that signalled an object; or NONE. */
static uint32_t loop_of_server(const struct thrum__model *model, uint32_t object)
{
	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		uint32_t task = THRUM__EDGE(model, edge, from);
		uint32_t lane = thrum__why_last_lane(model, task);

		if (lane != THRUM__NONE && THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			!thrum__analyse_task_is_lane(model, task))
			return lane;
	}
	return THRUM__NONE;
}

/* Whether a handle may be of a lane's loop: it began there, or in a thread that runs no loop itself. */
static bool may_be_of_loop(const struct thrum__model *model, uint32_t task, uint32_t lane)
{
	uint32_t own = THRUM__TASK(model, task, lane);

	return own == lane || !thrum__why_lane_rests_for(model, own, THRUM__REASON_WORK);
}

/* Whether the handler of a signal that never came may signal an object next: its loop waits for work, and
 * other callbacks of that loop signalled the object. */
static bool has_signal(struct thrum__search *search, uint32_t object)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = loop_of_server(model, object);

	if (lane == THRUM__NONE ||
		!is_outside(search, &model->lanes[lane],
			thrum__why_thread_of(model, &model->lanes[lane])))
		return false;
	THRUM__WHY_EACH (search, task, THRUM__SORT_OUTSIDE)
		if (is_unheard_signal(model, task) && may_be_of_loop(model, task, lane))
			return true;
	return false;
}

/* Whether a task did what others like it did: it signalled an object. */
static bool has_served(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			THRUM__EDGE(model, edge, to) == object)
			return true;
	return edge != THRUM__NONE;
}

/* Whether a timer goes back to a handle like that which signalled an object: it began the timer, or what did,
 * and ended without a signal. So the timer tries again. After many tries that is no excuse. */
static bool is_retry(const struct thrum__search *search, uint32_t timer, uint32_t server,
	uint32_t object, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t task = timer, tries = 0;

	for (; thrum__model_has_row(&model->tasks, task);
		task = THRUM__TASK(model, task, creator)) {
		if (task != timer && thrum__why_is_alike(search, task, server))
			return !thrum__analyse_task_is_pending(model, task) &&
				THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE &&
				!has_served(model, task, object);
		if (THRUM__TASK(model, task, created) < since ||
			(THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
				tries++ == TRIES_MAX))
			return false;
	}
	return false;
}

/* Whether a timer that is still to come tries again what was begun for a waiter. */
static bool has_retry(struct thrum__search *search, uint32_t object, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = thrum__why_edge_to(model, object, THRUM__EDGE_SIGNAL), server;

	if (edge == THRUM__NONE)
		return false;
	server = THRUM__EDGE(model, edge, from);
	if (!thrum__model_has_row(&model->tasks, server) ||
		thrum__analyse_task_is_lane(model, server))
		return false;
	THRUM__WHY_EACH (search, task, THRUM__SORT_OUTSIDE)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			thrum__analyse_task_is_pending(model, task) &&
			thrum__why_is_running_timer(search, task) &&
			is_retry(search, task, server, object, since))
			return true;
	return false;
}

/* Whether a thread waits for a signal, and none has come. */
static bool awaits_signal(const struct thrum__search *search, const struct thrum__lane *lane)
{
	const struct thrum__model *model = search->model;
	uint32_t thread = thrum__why_thread_of(model, lane);
	struct thrum__analyse_waits waits;

	if (!thrum__analyse_task_is_pending(model, thread) || has_heard(model, lane))
		return false;
	waits = thrum__analyse_graph_waits(&search->graph, thread);
	return waits.count > 0 &&
		THRUM__TASK(model, waits.waits[0].on, kind) == THRUM_KIND_HANDLE &&
		THRUM__BEGINS_WITH(model, waits.waits[0].on, "a signal", "SIG") &&
		!thrum__why_is_seen(model, waits.waits[0].on);
}

/* Whether a thread that waits for its first signal may signal an object next: all that did have ended. */
static bool has_signal_thread(const struct thrum__search *search, uint32_t object, uint32_t waiter)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_servers servers;

	thrum__why_servers_of(model, object, waiter, &servers);
	if (servers.count == 0 || servers.pending > 0 || thrum__why_is_barrier(model, object))
		return false;
	THRUM__EACH_LANE (model, lane)
		if (awaits_signal(search, lane))
			return true;
	return false;
}

static bool has_newcomer(struct thrum__search *search, uint32_t object, bool is_unasked,
	struct thrum__why_path *path)
{
	return has_new_thread(search, object, is_unasked, path) || has_signal(search, object);
}

bool thrum__why_has_newcomer(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (path->circle == THRUM__NONE)
		return has_newcomer(search, path->leaf, last && is_unasked(search, last), path) ||
			(last &&
				(has_retry(search, path->leaf, last->wait.since) ||
					has_signal_thread(search, path->leaf, last->task)));
	for (uint32_t i = path->circle; i < path->length; i++)
		if (path->links[i].is_served &&
			thrum__analyse_task_is_object(search->model, path->links[i].task) &&
			has_newcomer(search, path->links[i].task, false, path))
			return true;
	return false;
}

bool thrum__why_may_be_forced(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const char *name = thrum__model_task_name(model, path->leaf, NULL);
	uint32_t own = THRUM__TASK(model, path->leaf,
		lane); /* of the thread that waits, which told it */

	if (!strstr(name, ", which blocks SIG") && !strstr(name, ", which ignores SIG"))
		return false;
	for (uint32_t i = 0; own < model->lane_count && i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];
		uint32_t thread = thrum__why_thread_of(model, lane);
		struct thrum__analyse_waits waits;

		if (i == own || lane->process != model->lanes[own].process ||
			!thrum__analyse_task_is_pending(model, thread))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, thread);
		if (waits.count > 0 && thrum__why_is_running_timer(search, waits.waits[0].on))
			return true;
	}
	return false;
}
