/* SPDX-License-Identifier: ISC */
/*
 * Tells how the leaf of a path differs from those like it, by its own turns: it was woken for a lock or a
 * permit, took none, and does nothing more, though these are free. Or it never took a permit, or was never
 * made ready, as each of them did or was. Or each of them ended when a timer came, and that timer was
 * stopped.
 */
#include "analyse/why/unusual/unusual.h"

#define LIKE_MIN 4     /* so many that ended show how such tasks go on */
#define LIKE_MOST 4096 /* tasks like it that are looked at, from the latest back */
#define LOCKS_BACK 512 /* edges of a lock or of a task, from the latest back */
#define RUNS_BACK 64   /* runs before one, on all lanes */

/* ---- Woken in vain ------------------------------------------------------------------------------ */

/* How many others like a task, that were resolved, took a lock. Counts up to LIKE_MIN. */
static uint32_t takers_like(const struct thrum__search *search, uint32_t task, uint32_t lock)
{
	const struct thrum__model *model = search->model;
	uint32_t count = 0, last = task;

	THRUM__EDGES_TO (model, lock, edge, LOCKS_BACK) {
		uint32_t from = thrum__why_actor(model, edge);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK || from == THRUM__NONE ||
			from == last || !thrum__why_is_alike(search, task, from) ||
			THRUM__TASK(model, from, state) != THRUM__STATE_RESOLVED)
			continue;
		last = from;
		if (++count == LIKE_MIN)
			break;
	}
	return count;
}

static bool is_free(const struct thrum__model *model, uint32_t lock)
{
	struct thrum__analyse_lock found;
	bool is_free;

	if (thrum__analyse_lock_make(model, lock, &found) != 0)
		return false;
	is_free = found.count == 0 && !found.is_cut;
	thrum__analyse_lock_free(&found);
	return is_free;
}

/* The edge that made a task ready which had waited for a lock, if it ran since and took none, and waits
 * for nothing else: the lock is free, and others like it took it. NONE: that isn't so. */
static uint32_t woken_in_vain(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t wait = THRUM__TASK(model, task, edge_out), run = THRUM__TASK(model, task, run);
	uint32_t ready = thrum__why_edge_to(model, task, THRUM__EDGE_READY), lock;

	if (search->gap >= 0 || model->is_joined || ready == THRUM__NONE ||
		thrum__analyse_task_is_lane(model, task) ||
		!thrum__model_has_row(&model->edges, wait) ||
		THRUM__EDGE(model, wait, kind) != THRUM__EDGE_WAIT || ready < wait ||
		!thrum__model_has_row(&model->runs, run) ||
		THRUM__RUN(model, run, start) < THRUM__EDGE(model, ready, time) ||
		thrum__analyse_task_is_running(model, task) ||
		thrum__why_is_recent(model, THRUM__RUN(model, run, end)))
		return THRUM__NONE;
	lock = thrum__why_known(model, THRUM__EDGE(model, wait, to));
	return lock != THRUM__NONE && thrum__analyse_task_is_lock(model, lock) &&
			is_free(model, lock) && takers_like(search, task, lock) == LIKE_MIN
		? ready
		: THRUM__NONE;
}

bool thrum__why_add_woken_in_vain(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t ready = woken_in_vain(search, path->leaf), wait;

	if (ready == THRUM__NONE)
		return false;
	wait = THRUM__TASK(model, path->leaf, edge_out);
	thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_WOKEN_INSTEAD, path->leaf,
				    THRUM__EDGE(model, wait, to), ready),
		4);
	return true;
}

/* ---- Never took a permit ------------------------------------------------------------------------ */

/* The semaphore of which a task took a permit last; or NONE. */
static uint32_t semaphore_of(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_FROM (model, task, edge, LOCKS_BACK) {
		uint32_t to = thrum__why_known(model, THRUM__EDGE(model, edge, to));

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK && to != THRUM__NONE &&
			THRUM__TASK(model, to, kind) == THRUM_KIND_SEMAPHORE)
			return to;
	}
	return THRUM__NONE;
}

/* Whether a task took a permit of a semaphore; or `else_so`, if it did so much since that this isn't
 * known. */
static bool has_taken(const struct thrum__model *model, uint32_t task, uint32_t semaphore,
	bool else_so)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	THRUM__EDGES_OF (model, edge, prev_out, LOCKS_BACK, THRUM__EDGE_LOCK)
		if (THRUM__EDGE(model, edge, to) == semaphore)
			return true;
	return edge != THRUM__NONE && else_so;
}

/* The free semaphore of which all that are like the leaf and were resolved took a permit, and the leaf never
 * did. Sets *count to how many these are. NONE: there is none. O(tasks). */
static uint32_t untaken(struct thrum__search *search, uint32_t leaf, uint32_t *count)
{
	const struct thrum__model *model = search->model;
	uint32_t semaphore = THRUM__NONE, at = model->tasks.count;

	*count = 0;
	if (search->gap >= 0 || model->is_joined || thrum__analyse_task_is_object(model, leaf) ||
		thrum__analyse_task_is_lane(model, leaf))
		return THRUM__NONE;
	for (; *count < LIKE_MOST &&
		(at = thrum__why_resolved_like(search, leaf, at)) != THRUM__NONE;
		++*count) {
		if (*count == 0)
			semaphore = semaphore_of(model, at);
		if (semaphore == THRUM__NONE || !has_taken(model, at, semaphore, false))
			return THRUM__NONE;
	}
	return *count >= LIKE_MIN && search->budget > 0 &&
			!has_taken(model, leaf, semaphore, true) && is_free(model, semaphore)
		? semaphore
		: THRUM__NONE;
}

bool thrum__why_add_untaken_permit(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t count, semaphore = untaken(search, path->leaf, &count);

	if (semaphore != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_NEVER_READY,
					    path->leaf, semaphore,
					    THRUM__TASK(model, path->leaf, created), THRUM__NONE),
			count);
	return semaphore != THRUM__NONE;
}

/* ---- Never ready -------------------------------------------------------------------------------- */

/* Whether a task was made ready; or so much was done to it since that this isn't known. */
static bool may_have_been_ready(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	THRUM__EDGES_OF (model, edge, prev_in, LOCKS_BACK, THRUM__EDGE_READY)
		return true;
	return edge != THRUM__NONE;
}

static bool has_waited(const struct thrum__model *model, uint32_t task)
{
	return thrum__why_edge_from(model, task, THRUM__EDGE_WAIT) != THRUM__NONE;
}

/* The wait of a task for another one that had ended before, as far as is known; or NONE. */
static uint32_t late_wait(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_FROM (model, task, edge, LOCKS_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, to) &&
			!thrum__analyse_task_is_object(model, to) &&
			THRUM__TASK(model, thrum__model_heir(model, to), end) <
				THRUM__EDGE(model, edge, time))
			return edge;
	}
	return THRUM__NONE;
}

/* Those like a task that were made ready. */
struct beside {
	uint32_t count;
	uint32_t waited; /* how many of them waited before */
	uint32_t late;   /* and how many of these for what had ended */
};

/* How many others like a task were made ready, ran and were resolved, if each that was resolved did so, and
 * this one was never ready; 0: that isn't so. O(tasks). */
static struct beside ready_beside(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct beside none = {0}, found = {0};

	if (THRUM__TASK(model, task, run) != THRUM__NONE ||
		thrum__why_ends_by_itself(model, task) || may_have_been_ready(model, task))
		return none;
	for (uint32_t at = model->tasks.count; found.count < LIKE_MOST &&
		(at = thrum__why_resolved_like(search, task, at)) != THRUM__NONE;
		found.count++) {
		if (THRUM__TASK(model, at, run) == THRUM__NONE ||
			thrum__why_edge_to(model, at, THRUM__EDGE_READY) == THRUM__NONE)
			return none;
		found.waited += has_waited(model, at);
		found.late += late_wait(model, at) != THRUM__NONE;
	}
	return found.count >= LIKE_MIN && search->budget > 0 ? found : none;
}

/* Whether all others like a task have ended long ago, and it doesn't wait. */
static bool is_straggler(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

	return peer && peer->pending == 1 && peer->ended >= LIKE_MIN &&
		thrum__analyse_task_is_pending(search->model, task) &&
		!thrum__why_peers_is_young(&search->peers, task) &&
		!has_waited(search->model, task);
}

/* The leaf, or else the only straggler, that was never made ready, as all its like were. Sets *beside to
 * these. NONE: there is none. */
static uint32_t never_ready(struct thrum__search *search, uint32_t task, struct beside *beside)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE;

	if (search->gap >= 0 || model->is_joined)
		return THRUM__NONE;
	*beside = ready_beside(search, task);
	if (beside->count > 0)
		return task;
	if (THRUM__TASK(model, task, run) != THRUM__NONE ||
		!thrum__why_spend(search, model->tasks.count))
		return THRUM__NONE;
	THRUM__EACH_TASK (model, at) {
		struct beside others = {0};

		if (at != task && is_straggler(search, at))
			others = ready_beside(search, at);
		if (others.count == 0)
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = at;
		*beside = others;
	}
	return found;
}

bool thrum__why_add_never_ready(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	struct beside beside;
	uint32_t task = never_ready(search, path->leaf, &beside), late, other = THRUM__NONE;

	if (task == THRUM__NONE)
		return false;
	late = beside.late == 0 ? late_wait(model, task) : THRUM__NONE;
	if (late != THRUM__NONE)
		other = THRUM__EDGE(model, late, to);
	else if (!has_waited(model, task) && 2 * beside.waited > beside.count)
		other = task;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_NEVER_READY, task, other,
				    late != THRUM__NONE ? THRUM__EDGE(model, late, time)
							: THRUM__TASK(model, task, created),
				    late),
		beside.count);
	return true;
}

/* ---- A timer that was stopped ------------------------------------------------------------------- */

/* The timer that ran until a task had its last turn, on the same lane; or NONE. */
static uint32_t timer_before(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run), lane;
	int64_t start;

	if (!thrum__model_has_row(&model->runs, run))
		return THRUM__NONE;
	lane = THRUM__RUN(model, run, lane);
	start = THRUM__RUN(model, run, start);
	for (int i = 0; i < RUNS_BACK && run-- > model->runs.first; i++) {
		uint32_t by;

		if (!thrum__model_has_row(&model->runs, run))
			return THRUM__NONE;
		if (THRUM__RUN(model, run, lane) != lane)
			continue;
		by = thrum__why_known(model, THRUM__RUN(model, run, task));
		return by != THRUM__NONE && THRUM__RUN(model, run, end) == start &&
				THRUM__TASK(model, by, kind) == THRUM_KIND_TIMER
			? by
			: THRUM__NONE;
	}
	return THRUM__NONE;
}

/* The timer like one that was made last. */
static uint32_t latest_like(struct thrum__search *search, uint32_t timer)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, timer);

	for (uint32_t at = model->tasks.count; at-- > model->tasks.first && search->budget > 0;
		search->budget--)
		if (thrum__model_has_row(&model->tasks, at) &&
			thrum__why_peers_key(&search->peers, at) == key)
			return at;
	return THRUM__NONE;
}

/* The timer that was cancelled last, if all others like a task had their last turn when such a timer came,
 * and none is set since this task was made. NONE: that isn't so. O(tasks). */
static uint32_t stopped_timer(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t timer = THRUM__NONE, count = 0;

	if (search->gap >= 0 || model->is_joined || thrum__analyse_task_is_object(model, task))
		return THRUM__NONE;
	for (uint32_t at = model->tasks.count; count < LIKE_MOST &&
		(at = thrum__why_resolved_like(search, task, at)) != THRUM__NONE;
		count++) {
		uint32_t before = timer_before(model, at);

		if (before == THRUM__NONE ||
			thrum__why_peers_key(&search->peers, before) == THRUM__NONE ||
			(timer != THRUM__NONE &&
				thrum__why_peers_key(&search->peers, before) !=
					thrum__why_peers_key(&search->peers, timer)))
			return THRUM__NONE;
		timer = before;
	}
	if (count < LIKE_MIN || thrum__why_peers_of(&search->peers, timer)->pending > 0)
		return THRUM__NONE;
	timer = latest_like(search, timer);
	return timer != THRUM__NONE && THRUM__TASK(model, timer, state) == THRUM__STATE_CANCELLED &&
			THRUM__TASK(model, timer, end) > THRUM__TASK(model, task, created) &&
			!thrum__why_is_recent(model, THRUM__TASK(model, timer, end))
		? timer
		: THRUM__NONE;
}

bool thrum__why_add_stopped_timer(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	uint32_t timer = stopped_timer(search, path->leaf);

	if (timer != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_end(finding, search->model,
					    THRUM__STEP_CANCELLED_MEANWHILE, timer, path->leaf),
			2);
	return timer != THRUM__NONE;
}
