/* SPDX-License-Identifier: ISC */
/*
 * Tells which request led to nothing. Each request of a call site begins the next step as it ends: it makes
 * another request or a timer. One of them, such as one that failed, does not, and nothing goes on any more.
 * Or it is the last that was done for a question, which nobody answers. Or a connection is made anew, and
 * nothing is begun with it, or sent, as with the one before. Or the end of a child is lost, as another call
 * took it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/blame/blame.h"

#define LIKE_MIN 3      /* so many of a call site that began something show that each should */
#define NOTES_BACK 8192 /* notes that are searched, from the latest back */
#define SOON 1000000    /* ns from a question to the callback that gets it */
#define ASKS_BACK 1024  /* edges of one that sends questions, from the latest back */
#define IDLE 1000000000 /* ns in which an idle program's timers come seldom */
#define TURNS_MIN 8
#define STEPS_MAX 32 /* requests, one after the other, for a question */

static const struct thrum__why_dropped none = {THRUM__NONE, THRUM__NONE};

/* The run of a request in which it ended on that lane (NONE: on any), or NONE. */
static uint32_t last_run(const struct thrum__model *model, uint32_t task, uint32_t lane)
{
	uint32_t run = THRUM__TASK(model, task, run);
	int state = THRUM__TASK(model, task, state);

	return THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST &&
			(state == THRUM__STATE_RESOLVED || state == THRUM__STATE_FAILED) &&
			thrum__model_has_row(&model->runs, run) &&
			(lane == THRUM__NONE || THRUM__RUN(model, run, lane) == lane)
		? run
		: THRUM__NONE;
}

uint32_t thrum__why_next_made(const struct thrum__model *model, uint32_t task, uint32_t run,
	uint32_t at)
{
	while (thrum__model_has_row(&model->tasks, at) &&
		THRUM__TASK(model, at, created) <= THRUM__RUN(model, run, end) &&
		THRUM__TASK(model, at, creator) != task)
		at++;
	return thrum__model_has_row(&model->tasks, at) &&
			THRUM__TASK(model, at, created) <= THRUM__RUN(model, run, end)
		? at
		: THRUM__NONE;
}

static uint32_t first_made(const struct thrum__model *model, uint32_t task, uint32_t run)
{
	return thrum__why_next_made(model, task, run,
		thrum__analyse_task_from(model, THRUM__RUN(model, run, start)));
}

/* Whether a task made another one in a run. */
static bool has_begun(const struct thrum__model *model, uint32_t task, uint32_t run)
{
	return first_made(model, task, run) != THRUM__NONE;
}

bool thrum__why_is_without_effect(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run), edge = THRUM__TASK(model, task, edge_out);
	uint32_t note = model->notes.count;
	int64_t from = THRUM__RUN(model, run, start), to = THRUM__RUN(model, run, end);

	for (; thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) >= from;
		edge = THRUM__EDGE(model, edge, prev_out))
		if (THRUM__EDGE(model, edge, to) != task &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_UNLOCK)
			return false;
	for (int i = 0; i < NOTES_BACK && note-- > model->notes.first; i++) {
		if (!thrum__model_has_row(&model->notes, note))
			return false;
		if (THRUM__NOTE(model, note, time) < from)
			return true;
		if (THRUM__NOTE(model, note, time) <= to &&
			THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return false;
	}
	return note == UINT32_MAX || note < model->notes.first;
}

/* ---- One of many ------------------------------------------------------------------------------------ */

static void count(const struct thrum__model *model, uint32_t lane, struct thrum__why_site *sites)
{
	THRUM__EACH_TASK (model, task) {
		uint32_t run = last_run(model, task, lane);
		struct thrum__why_site *site = &sites[THRUM__TASK(model, task, site)];

		if (run == THRUM__NONE || site == sites)
			continue;
		if (has_begun(model, task, run)) {
			site->began++;
			site->like = task;
		} else if (site->dropped++ == 0) {
			site->found = task;
		}
	}
}

/* Whether a timer that was there before a request comes round so fast that the program can't just be idle. */
static bool is_awaited_by_timer(const struct thrum__model *model, uint32_t request)
{
	uint32_t turns = 0;

	THRUM__RUNS_BACK (model, row, UINT32_MAX) {
		uint32_t task = thrum__why_known(model, THRUM__RUN(model, row, task));

		if (THRUM__RUN(model, row, start) <= model->end - IDLE || turns == TURNS_MIN)
			break;
		turns += task != THRUM__NONE &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			THRUM__TASK(model, task, created) <= THRUM__TASK(model, request, created);
	}
	return turns == TURNS_MIN;
}

/* Whether a request of a call site should have begun something, as its like did: also one that began
 * later, since the last one of a series need not. If several begin nothing, that is how the program
 * treats such ones. One that ended well may have had nothing to begin: that counts only if no timer goes
 * on. One that failed may not have been needed: that counts only if no timer goes on, or one waits for
 * it. */
static bool is_dropped(const struct thrum__search *search, const struct thrum__why_site *site)
{
	const struct thrum__model *model = search->model;

	return site->dropped == 1 && site->began >= LIKE_MIN && site->like > site->found &&
		(search->is_silent ||
			(THRUM__TASK(model, site->found, state) == THRUM__STATE_FAILED &&
				is_awaited_by_timer(model, site->found))) &&
		*thrum__model_task_name(model, site->found, NULL) &&
		thrum__why_is_without_effect(model, site->found);
}

/* The only such request; one that failed comes first. */
static struct thrum__why_dropped one_of_many(const struct thrum__search *search, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_dropped found = none;
	struct thrum__why_site *sites = calloc((size_t)UINT16_MAX + 1, sizeof *sites);
	bool is_failed = false, is_several = false;

	if (!sites)
		return found;
	count(model, lane, sites);
	for (unsigned i = 1; i <= UINT16_MAX; i++) {
		bool has_failed = sites[i].dropped > 0 &&
			THRUM__TASK(model, sites[i].found, state) == THRUM__STATE_FAILED;

		if (!is_dropped(search, &sites[i]) || (is_failed && !has_failed))
			continue;
		is_several = found.task != THRUM__NONE && has_failed == is_failed;
		is_failed = has_failed;
		found = (struct thrum__why_dropped){sites[i].found, sites[i].like};
	}
	free(sites);
	return is_several ? none : found;
}

/* ---- Questions ---------------------------------------------------------------------------------- */

uint32_t thrum__why_run_soon(const struct thrum__model *model, uint32_t lane, uint32_t thread,
	int64_t time)
{
	uint32_t run = thrum__analyse_run_from(model, time);

	for (; thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, start) - time < SOON;
		run++)
		if (THRUM__RUN(model, run, lane) == lane && THRUM__RUN(model, run, task) != thread)
			return run;
	return THRUM__NONE;
}

/* The last request that a task made in a run, or NONE. */
static uint32_t last_made(const struct thrum__model *model, uint32_t task, uint32_t run)
{
	uint32_t made = THRUM__NONE;

	for (uint32_t at = first_made(model, task, run); at != THRUM__NONE;
		at = thrum__why_next_made(model, task, run, at + 1))
		if (THRUM__TASK(model, at, kind) == THRUM_KIND_REQUEST)
			made = at;
	return made;
}

/* The last of the requests that were made one after the other, since a thread received a question in its
 * loop at a time; NONE: that hasn't ended in the loop, or none was made. */
static uint32_t last_for(const struct thrum__model *model, uint32_t lane, uint32_t thread,
	int64_t time)
{
	uint32_t run = thrum__why_run_soon(model, lane, thread, time), last = THRUM__NONE;

	for (int i = 0; i < STEPS_MAX && run != THRUM__NONE; i++) {
		uint32_t made = last_made(model, THRUM__RUN(model, run, task), run);

		if (made == THRUM__NONE)
			return last;
		last = made;
		run = last_run(model, made, lane);
	}
	return THRUM__NONE;
}

struct thrum__why_site *thrum__why_count_sites(const struct thrum__model *model)
{
	struct thrum__why_site *sites = calloc((size_t)UINT16_MAX + 1, sizeof *sites);

	if (sites)
		count(model, THRUM__NONE, sites);
	return sites;
}

/* The request that ended last for a question: that of the thread which waits for a handle of a connection,
 * and gets no answer. Or the callback that got it and sent nothing: then like is the handle. */
static struct thrum__why_dropped unanswered(const struct thrum__search *search, uint32_t handle)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_dropped found = none;
	struct thrum__awaited awaited;
	struct thrum__step step;

	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, handle, i)) != THRUM__NONE;) {
		if (!thrum__model_awaited(model, i, &awaited) ||
			!thrum__analyse_task_is_pending(model, awaited.server) ||
			model->end - awaited.asked < THRUM__SOON_OUTSIDE)
			continue;
		uint32_t lane = thrum__why_loop_of(model, awaited.server);
		uint32_t task = lane == THRUM__NONE
			? THRUM__NONE
			: last_for(model, lane, awaited.server, awaited.asked);

		if (task == THRUM__NONE || !*thrum__model_task_name(model, task, NULL))
			continue;
		const struct thrum__why_site *site = &search->sites[THRUM__TASK(model, task, site)];

		if (site->began >= LIKE_MIN && site->dropped <= site->began / LIKE_MIN &&
			thrum__why_is_without_effect(model, task))
			found = (struct thrum__why_dropped){task, site->like};
	}
	if (found.task == THRUM__NONE && thrum__why_no_reply(search, handle, &step))
		found = (struct thrum__why_dropped){step.task, handle};
	return found;
}

/* ---- Made anew ---------------------------------------------------------------------------------- */

/* Whether two requests connect to the same address. The name of a callback may follow it. */
static bool is_same_address(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	const char *to = thrum__model_task_name(model, a, NULL);
	const char *other = thrum__model_task_name(model, b, NULL);
	size_t size = strcspn(to, ",");

	return size == strcspn(other, ",") && strncmp(to, other, size) == 0;
}

/* Whether a task waits since a time, or a later one, for what comes to it next. */
static bool waits_for_data(const struct thrum__search *search, uint32_t task, int64_t since)
{
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

	return wait && wait->since >= since && THRUM__BEGINS_WITH(search->model, wait->on, "read");
}

/* Whether a task accepted a connection since a time, and waits for what comes from it: so the other side is
 * recorded, too, and sends nothing by itself. */
static bool is_heard(const struct thrum__search *search, int64_t since)
{
	const struct thrum__model *model = search->model;

	THRUM__EACH_TASK (model, task) {
		uint32_t edge = THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED &&
				THRUM__TASK(model, task, end) >= since &&
				THRUM__BEGINS_WITH(model, task, "accept")
			? thrum__why_edge_to(model, task, THRUM__EDGE_READ)
			: THRUM__NONE;
		if (edge != THRUM__NONE &&
			waits_for_data(search, THRUM__EDGE(model, edge, from),
				THRUM__EDGE(model, edge, time)))
			return true;
	}
	return false;
}

/* The last connection, if it was made anew, and all before it to the same address began something. The other
 * side waits for that, too: else it may be the one that sends. */
static struct thrum__why_dropped made_anew(const struct thrum__search *search, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_dropped found = none;

	THRUM__EACH_TASK (model, task) {
		uint32_t run = last_run(model, task, lane);

		if (run == THRUM__NONE || !THRUM__BEGINS_WITH(model, task, "connect ") ||
			THRUM__TASK(model, task, state) != THRUM__STATE_RESOLVED)
			continue;
		if (found.task != THRUM__NONE)
			return none;
		if (has_begun(model, task, run))
			found.like = task;
		else if (found.like != THRUM__NONE && is_same_address(model, task, found.like))
			found.task = task;
		else
			return none;
	}
	return found.task != THRUM__NONE && thrum__why_is_without_effect(model, found.task) &&
			is_heard(search, THRUM__TASK(model, found.task, created))
		? found
		: none;
}

/* ---- Children ----------------------------------------------------------------------------------- */

/* The first child of which a thread learned only that another call had taken it. */
static struct thrum__why_dropped taken_child(const struct thrum__model *model, uint32_t lane)
{
	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, state) == THRUM__STATE_FAILED &&
			THRUM__TASK(model, task, lane) == lane &&
			THRUM__BEGINS_WITH(model, task, "end of process "))
			return (struct thrum__why_dropped){task, THRUM__NONE};
	return none;
}

/* ---- The answer --------------------------------------------------------------------------------- */

/* Whether something in the program waits for others to connect. */
static bool is_server(const struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	THRUM__WHY_EACH (search, task, THRUM__SORT_OUTSIDE)
		if (THRUM__BEGINS_WITH(model, task, "listen", "accept"))
			return true;
	return false;
}

/* Whether a timer comes after the end: a silence before it is nothing unusual. */
static bool has_due(const struct thrum__model *model)
{
	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			thrum__analyse_task_is_pending(model, task) &&
			thrum__why_due_of(model, task) >= model->end)
			return true;
	return false;
}

/* Finds it in the loop of a lane. */
static struct thrum__why_dropped find_in_loop(const struct thrum__search *search, uint32_t lane)
{
	static const char *const own[] = {"async"};
	const struct thrum__model *model = search->model;
	struct thrum__why_dropped found = none;

	if (search->is_silent && !has_due(model) &&
		!thrum__why_awaits_outside(model, own, 1, false))
		found = taken_child(model, lane);
	if (found.task != THRUM__NONE)
		return found;
	/* It may wait for no more than something from outside. */
	if (!thrum__why_awaits_outside(model, own, 1, false))
		found = one_of_many(search, lane);
	else if (search->is_silent && !is_server(search))
		found = made_anew(search, lane);
	return found;
}

struct thrum__why_dropped thrum__why_dropped(struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t lane;

	if (!search->is_still || search->gap >= 0)
		return none;
	if (search->sites && THRUM__TASK(model, thread, kind) == THRUM_KIND_HANDLE)
		return unanswered(search, thread);
	lane = thrum__why_loop_of(model, thread);
	if (lane == THRUM__NONE)
		return none;
	/* A path is judged in several steps, and each asks. */
	if (search->dropped_lane != lane) {
		search->dropped = find_in_loop(search, lane);
		search->dropped_lane = lane;
	}
	return search->dropped;
}

/* ---- Not sent again ----------------------------------------------------------------------------- */

/* Whether the thread that received what a task sent waits since a time for what comes next. */
static bool is_receiver_ready(const struct thrum__search *search, uint32_t task, int64_t since)
{
	return waits_for_data(search, thrum__why_acted_on(search->model, task, THRUM__EDGE_LINK),
		since);
}

/* Whether one that a waiter asked sent something after that which was received by a time; then the answer was
 * still under way. The waiter asked often, and got its answers. */
static bool has_asked(const struct thrum__model *model, const struct thrum__why_link *link,
	int64_t until)
{
	uint32_t ready = thrum__why_ready_edge(model, &link->wait), edge;

	if (thrum__why_waits_on(model, link->task, link->wait.on) <= LIKE_MIN)
		return false;
	edge = THRUM__TASK(model, THRUM__EDGE(model, ready, to), edge_out);
	THRUM__EDGES_BACK (model, edge, prev_out, ASKS_BACK) {
		if (THRUM__EDGE(model, edge, time) < THRUM__EDGE(model, ready, time))
			return false;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK &&
			THRUM__EDGE(model, edge, time) <= until)
			return true;
	}
	return false;
}

/* The first connection that a loop made since a wait began, if nothing was sent as it was there, but with one
 * to the same address before; or the waiter's question was. The other side waits for it. */
static struct thrum__why_dropped first_unused(const struct thrum__search *search, uint32_t lane,
	const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_dropped found = none;
	uint32_t before = THRUM__NONE;

	THRUM__EACH_TASK (model, task) {
		if (last_run(model, task, lane) == THRUM__NONE ||
			!THRUM__BEGINS_WITH(model, task, "connect "))
			continue;
		if (THRUM__TASK(model, task, created) >= link->wait.since) {
			found.task = task;
			break;
		}
		before = task;
		if (thrum__why_edge_from(model, task, THRUM__EDGE_LINK) != THRUM__NONE)
			found.like = task;
	}
	if (found.task != THRUM__NONE && before != THRUM__NONE && found.like == THRUM__NONE &&
		has_asked(model, link, THRUM__TASK(model, found.task, created)))
		found.like = thrum__why_made_ready(model, &link->wait);
	if (found.task == THRUM__NONE || found.like == THRUM__NONE ||
		THRUM__TASK(model, found.task, state) != THRUM__STATE_RESOLVED ||
		thrum__why_edge_from(model, found.task, THRUM__EDGE_LINK) != THRUM__NONE ||
		!is_same_address(model, found.task, before) ||
		!thrum__why_is_without_effect(model, found.task) ||
		!(is_receiver_ready(search, found.like, THRUM__TASK(model, found.task, created)) ||
			is_heard(search, THRUM__TASK(model, found.task, created))))
		found.task = THRUM__NONE;
	return found;
}

struct thrum__why_dropped thrum__why_not_sent_again(const struct thrum__search *search,
	const struct thrum__why_link *link, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	uint32_t lane;

	if (!search->is_silent || !search->is_still || search->gap >= 0 || link->is_served ||
		THRUM__TASK(model, link->wait.on, kind) != THRUM_KIND_CONDITION ||
		servers->count == 0 || servers->pending > 0 || !servers->is_whole ||
		THRUM__TASK(model, servers->task[0], end) < link->wait.since || is_server(search) ||
		thrum__why_made_ready(model, &link->wait) == THRUM__NONE)
		return none;
	lane = thrum__why_last_lane(model, servers->task[0]);
	return lane == THRUM__NONE ? none : first_unused(search, lane, link);
}
