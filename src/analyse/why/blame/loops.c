/* SPDX-License-Identifier: ISC */
/*
 * Tells what keeps the loop of a thread that should end: of the handles that were left, several were closed
 * at once, and only one or two still have turns. Connections come and go, also two at once: so only handles
 * that are the only ones like them count as closed. Or that only one handle is left in a loop, of many alike,
 * and that nothing can come for it. Or which task of the thread was given to a loop that nobody runs.
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#define CLOSED_MIN 2     /* so many handles were closed at once */
#define AT_ONCE 50000000 /* ns */
#define LEFT_MAX 2       /* so many handles are left at most */
#define ALIKE_MIN 3      /* so many handles like the one that is left were closed */
#define LONG 1000000000  /* ns */
#define OLDER 100        /* so many times as long as the life of any of these it has no turn */

uint32_t thrum__why_loop_of(const struct thrum__model *model, uint32_t thread)
{
	uint32_t lane = THRUM__TASK(model, thread, kind) == THRUM_KIND_THREAD
		? thrum__why_last_lane(model, thread)
		: THRUM__NONE;

	return thrum__why_lane_rests_for(model, lane, THRUM__REASON_WORK) ? lane : THRUM__NONE;
}

/* When a task began to run there last; -1: it didn't. */
static int64_t last_turn(const struct thrum__model *model, uint32_t task, uint32_t lane)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, lane) == lane
		? THRUM__RUN(model, run, start)
		: -1;
}

bool thrum__why_is_loop(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_loop_of(model, thread);

	if (lane == THRUM__NONE || thrum__why_wait_of(search, thread))
		return false;
	THRUM__EACH_TASK (model, task)
		if (thrum__why_is_handle(model, task) && last_turn(model, task, lane) >= 0)
			return true;
	return false;
}

/* The handles of a loop. */
struct handles {
	int64_t closed; /* when the last of those that are closed was */
	unsigned at_once, left;
	uint32_t first; /* of those that are left */
	bool is_other;  /* another one may wait for its turn */
};

static bool is_unlike_others(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

	return !peer || peer->ended + peer->pending <= 1;
}

static void note_closed(const struct thrum__search *search, uint32_t task, uint32_t lane,
	struct handles *handles)
{
	const struct thrum__model *model = search->model;
	int64_t end = THRUM__TASK(model, task, end);

	if (THRUM__TASK(model, task, state) != THRUM__STATE_RESOLVED ||
		last_turn(model, task, lane) < 0 || end <= handles->closed - AT_ONCE ||
		!is_unlike_others(search, task))
		return;
	if (end > handles->closed) {
		handles->at_once = end - handles->closed > AT_ONCE ? 0 : handles->at_once;
		handles->closed = end;
	}
	handles->at_once++;
}

static void note_left(const struct thrum__model *model, uint32_t task, uint32_t lane,
	struct handles *handles)
{
	if (last_turn(model, task, lane) <= handles->closed) {
		/* That of a call, for which a thread waits, is none. */
		handles->is_other |= thrum__why_edge_to(model, task, THRUM__EDGE_WAIT) ==
			THRUM__NONE;
		return;
	}
	handles->first = handles->left++ == 0 ? task : handles->first;
}

/* The handle that was left open when others were closed at once. */
static uint32_t open_among_closed(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_loop_of(model, thread);
	struct handles handles = {.closed = -AT_ONCE, .first = THRUM__NONE};

	if (lane == THRUM__NONE || search->gap >= 0)
		return THRUM__NONE;
	THRUM__EACH_TASK (model, task)
		if (thrum__why_is_handle(model, task))
			note_closed(search, task, lane, &handles);
	if (handles.at_once < CLOSED_MIN)
		return THRUM__NONE;
	THRUM__WHY_EACH (search, task, THRUM__SORT_OUTSIDE)
		if (thrum__why_is_handle(model, task) &&
			thrum__analyse_task_is_pending(model, task))
			note_left(model, task, lane, &handles);
	return handles.left <= LEFT_MAX && !handles.is_other ? handles.first : THRUM__NONE;
}

/* ---- The last of its sort --------------------------------------------------------------------- */

bool thrum__why_is_all_at_rest(const struct thrum__model *model)
{
	THRUM__EACH_LANE (model, lane) {
		uint32_t row = thrum__why_resting(model, lane);

		if (thrum__analyse_task_is_pending(model, lane->task) &&
			(row == THRUM__NONE ||
				thrum__why_rests_for(model, row, THRUM__REASON_BLOCKED_FOR_A_TIME)))
			return false;
	}
	return true;
}

/* The only handle of a lane's loop. NONE: it has others, or something is due in the program. */
static uint32_t only_handle(const struct thrum__model *model, uint32_t lane)
{
	uint32_t handle = THRUM__NONE;

	THRUM__EACH_TASK (model, task) {
		if (!thrum__analyse_task_is_pending(model, task) ||
			THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD ||
			thrum__analyse_task_is_object(model, task))
			continue;
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER ||
			THRUM__TASK(model, task, flags) & THRUM__TASK_DUE)
			return THRUM__NONE;
		if (THRUM__TASK(model, task, lane) != lane && last_turn(model, task, lane) < 0)
			continue;
		if (handle != THRUM__NONE || THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE)
			return THRUM__NONE;
		handle = task;
	}
	return handle;
}

uint32_t thrum__why_last_open(const struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_loop_of(model, thread), handle;
	const struct thrum__peer *peer;
	int64_t idle;

	/* Those with which it talks are of the trace, and wait as well. */
	if (lane == THRUM__NONE || search->gap >= 0 || !thrum__why_is_all_at_rest(model) ||
		thrum__why_edge_to(model, thread, THRUM__EDGE_LINK) == THRUM__NONE)
		return THRUM__NONE;
	handle = only_handle(model, lane);
	if (handle == THRUM__NONE || last_turn(model, handle, lane) < 0)
		return THRUM__NONE;
	peer = thrum__why_peers_of(&search->peers, handle);
	idle = model->end - last_turn(model, handle, lane);
	return peer && peer->ended >= ALIKE_MIN && idle >= THRUM__SOON_OUTSIDE &&
			idle / OLDER > peer->longest
		? handle
		: THRUM__NONE;
}

/* ---- A loop that nobody runs ------------------------------------------------------------------ */

bool thrum__why_is_unrun(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "run of the default main context", "run of a loop");
}

/* Whether the program only rests: in the last second it ran nothing but timers, and nothing comes from
 * outside to a thread that runs a loop. */
static bool is_all_idle(const struct thrum__model *model)
{
	static const char *const own[] = {"async ", "idle "};
	bool runs_loop = false;

	THRUM__EACH_LANE (model, lane) {
		uint32_t row = thrum__why_resting(model, lane);

		if (!thrum__analyse_task_is_pending(model, lane->task) ||
			thrum__why_rests_for(model, row, THRUM__REASON_BLOCKED))
			continue;
		if (!thrum__why_rests_for(model, row, THRUM__REASON_WORK))
			return false;
		runs_loop = true;
	}
	return thrum__why_only_timers_ran(model) &&
		(!runs_loop ||
			!thrum__why_awaits_outside(model, own, sizeof own / sizeof *own, false));
}

/* Whether a task that never ran should have done so long ago: one without a time, since it was ready, or
 * since it waits for a loop that has returned. One that nobody ran so far may just not have begun. */
static bool is_overdue(const struct thrum__model *model, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	int64_t due = thrum__why_due_of(model, task);

	if (due < 0)
		due = thrum__why_is_said_ready(model, task) ? THRUM__TASK(model, task, created)
			: THRUM__BEGINS_WITH(model, wait->on, "run of a loop, as") ? wait->since
										   : THRUM__OPEN;
	return thrum__analyse_task_is_pending(model, task) &&
		THRUM__TASK(model, task, run) == THRUM__NONE && due <= model->end - LONG;
}

const struct thrum__analyse_wait *thrum__why_unrun(const struct thrum__search *search,
	uint32_t thread, uint32_t *task)
{
	const struct thrum__analyse_graph *graph = &search->graph;
	const struct thrum__model *model = search->model;
	uint32_t lane = THRUM__TASK(model, thread, kind) == THRUM_KIND_THREAD
		? thrum__why_last_lane(model, thread)
		: THRUM__NONE;

	for (uint32_t i = graph->list_count; i > 0 && lane != THRUM__NONE; i--) {
		const struct thrum__analyse_wait *wait = &graph->waits[graph->lists[i].first];

		*task = graph->lists[i].task;
		if (thrum__why_is_unrun(model, wait->on) &&
			THRUM__TASK(model, *task, lane) == lane && is_overdue(model, *task, wait))
			return is_all_idle(model) && search->gap < 0 ? wait : NULL;
	}
	return NULL;
}

const struct thrum__analyse_wait *thrum__why_asked_unrun(const struct thrum__search *search,
	const struct thrum__analyse_wait *wait, uint32_t *asked)
{
	*asked = thrum__why_made_ready(search->model, wait);
	wait = thrum__why_wait_of(search, *asked);
	return wait && thrum__why_is_unrun(search->model, wait->on) ? wait : NULL;
}

uint32_t thrum__why_left_open(const struct thrum__search *search, uint32_t thread)
{
	uint32_t handle = open_among_closed(search, thread);

	return handle != THRUM__NONE ? handle : thrum__why_last_open(search, thread);
}
