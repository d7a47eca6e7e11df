/* SPDX-License-Identifier: ISC */
/*
 * Finds thread pools that wait for themselves: each of their threads is blocked in a task that waits for
 * something which nobody outside the pool provides, while other tasks are queued and never run. One of
 * these may be the one that would provide it.
 */
#include <stdlib.h>

#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/excuses/excuses.h"

#define LONG 100000000 /* ns; pools that are blocked for a shorter time are not suspicious */
#define THREADS_MAX 64
#define TOLD 3 /* threads that have a step */

/* The threads of a pool: their lanes, and the tasks that block them. */
struct pool {
	uint32_t lanes[THREADS_MAX], tasks[THREADS_MAX], count;
	int64_t since; /* when the last of them began to wait */
};

/* Whether a task was queued, and never ran. */
static bool is_queued(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, run) == THRUM__NONE &&
		!thrum__analyse_task_is_lane(model, task) && thrum__why_is_said_ready(model, task);
}

/* Whether a task is one of those that block the pool. */
static bool is_in(const struct pool *pool, uint32_t task)
{
	return thrum__why_is_among(pool->tasks, pool->count, task);
}

/* Finds the lanes that are blocked for good by tasks that were queued. Returns false if there are too many
 * or none, or if it isn't long. */
static bool find_threads(const struct thrum__search *search, struct pool *pool)
{
	const struct thrum__model *model = search->model;

	*pool = (struct pool){.since = 0};
	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t task = thrum__why_blocker_of(search, i);
		int64_t since;

		if (task == THRUM__NONE || thrum__why_timed_task(model, i) != THRUM__NONE ||
			thrum__analyse_task_is_lane(model, task) ||
			thrum__why_edge_to(model, task, THRUM__EDGE_READY) == THRUM__NONE)
			continue;
		if (pool->count == THREADS_MAX)
			return false;
		since = thrum__analyse_graph_waits(&search->graph, task).waits[0].since;
		pool->since = since > pool->since ? since : pool->since;
		pool->lanes[pool->count] = i;
		pool->tasks[pool->count++] = task;
	}
	return pool->count > 0 && model->end - pool->since >= LONG && pool->since <= model->end / 2;
}

/* Whether a pool is one of GLib's, as the adapter names its items. */
static bool is_of_glib(const struct thrum__model *model, const struct pool *pool)
{
	return THRUM__BEGINS_WITH(model, pool->tasks[0], "job ");
}

/* Whether a thread of GLib's waits for items of another pool: GLib has a thread run an item at once, unless
 * the pool has all that it may have. */
static bool is_of_other_pool(const struct thrum__model *model, const struct pool *pool,
	const struct thrum__lane *lane, uint32_t thread)
{
	return is_of_glib(model, pool) && lane->running == thread &&
		thrum__why_rests_for(model, thrum__why_resting(model, lane), THRUM__REASON_BLOCKED);
}

/* Whether a thread like those of the pool isn't blocked. By lane, `threads` has the task of its thread. */
static bool has_free_thread(const struct thrum__model *model, const struct pool *pool,
	const uint32_t *threads)
{
	for (uint32_t i = 0, next = 0; i < model->lane_count; i++) {
		if (next < pool->count && pool->lanes[next] == i) {
			next++;
			continue;
		}
		if (is_of_other_pool(model, pool, &model->lanes[i], threads[i]))
			continue;
		for (uint32_t k = 0;
			k < pool->count && thrum__analyse_task_is_pending(model, threads[i]); k++)
			if (thrum__why_are_named_alike(model, threads[i], threads[pool->lanes[k]]))
				return true;
	}
	return false;
}

/* Sets threads[lane] to the task of each lane's thread: one that the program made for it, or its own. */
static void find_names(const struct thrum__search *search, uint32_t *threads)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < model->lane_count; i++)
		threads[i] = model->lanes[i].task;
	THRUM__WHY_EACH (search, task, THRUM__SORT_WANTED) {
		uint32_t run = THRUM__TASK(model, task, run);

		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
			thrum__model_has_row(&model->runs, run))
			threads[THRUM__RUN(model, run, lane)] = task;
	}
}

/* Whether nobody but the pool and its queue can end a task's wait. */
static bool is_left_to_pool(const struct thrum__search *search, const struct pool *pool,
	uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_wait wait = thrum__analyse_graph_waits(&search->graph, task).waits[0];
	struct thrum__why_servers servers;

	if (!thrum__analyse_task_is_object(model, wait.on))
		return is_queued(model, wait.on) || is_in(pool, wait.on);
	if (thrum__analyse_task_is_lock(model, wait.on) && wait.next != THRUM__NONE)
		return is_in(pool, wait.next);
	thrum__why_servers_of(model, wait.on, task, &servers);
	for (unsigned i = 0; i < servers.count; i++)
		if (thrum__analyse_task_is_pending(model, servers.task[i]) &&
			!is_in(pool, servers.task[i]))
			return false;
	return servers.is_whole;
}

/* Whether one that blocks the pool queued the task. */
static bool is_by_pool(const struct thrum__search *search, const struct pool *pool, uint32_t task)
{
	uint32_t edge = thrum__why_edge_to(search->model, task, THRUM__EDGE_READY);

	return edge != THRUM__NONE && is_in(pool, THRUM__EDGE(search->model, edge, from));
}

/* Sets is_run[key] for the peers of tasks that ran on a lane that the pool doesn't block: others run
 * these. */
static void find_run_by_others(const struct thrum__search *search, const struct pool *pool,
	bool *is_run)
{
	const struct thrum__model *model = search->model;

	THRUM__EACH_TASK (model, task) {
		uint32_t key = thrum__why_peers_key(&search->peers, task);
		uint32_t run = THRUM__TASK(model, task, run), i = 0;

		if (key == THRUM__NONE || !thrum__model_has_row(&model->runs, run))
			continue;
		while (i < pool->count && pool->lanes[i] != THRUM__RUN(model, run, lane))
			i++;
		is_run[key] |= i == pool->count;
	}
}

/* The first task that is queued: one that the pool itself queued, or one unlike those that block it, if there
 * is one. NONE: there is no task at all. */
static uint32_t find_queued(const struct thrum__search *search, const struct pool *pool,
	const bool *is_run)
{
	const struct thrum__model *model = search->model;
	unsigned sorts = THRUM__SORT_WANTED | THRUM__SORT_OUTSIDE;
	uint32_t found = THRUM__NONE;

	THRUM__WHY_EACH (search, task, sorts) {
		uint32_t key = thrum__why_peers_key(&search->peers, task);

		if (!is_queued(model, task) ||
			model->end - THRUM__TASK(model, task, created) < LONG ||
			(key != THRUM__NONE && is_run[key]))
			continue;
		if (key != thrum__why_peers_key(&search->peers, pool->tasks[0]) ||
			is_by_pool(search, pool, task))
			return task;
		if (found == THRUM__NONE)
			found = task;
	}
	return found;
}

/* Whether a task waits for something that nobody ever served. */
static bool is_unserved(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_wait wait = thrum__analyse_graph_waits(&search->graph, task).waits[0];
	struct thrum__why_servers servers;

	thrum__why_servers_of(model, wait.on, task, &servers);
	return !thrum__analyse_task_is_object(model, wait.on) || servers.count == 0;
}

/* Whether something comes to the program that never came before: a timer, or what a thread outside the pool
 * waits for. */
static bool is_open(const struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < model->lane_count; i++)
		if (thrum__why_lane_rests_for(model, i, THRUM__REASON_BLOCKED_OUTSIDE))
			return true;
	THRUM__WHY_EACH (search, task, THRUM__SORT_WANTED | THRUM__SORT_OUTSIDE)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			thrum__analyse_task_is_pending(model, task) &&
			search->peers.all[thrum__why_peers_key(&search->peers, task)].ended == 0)
			return true;
	return false;
}

/* A pool that waits for an object may be one whose gate nobody has opened so far. */
static int certainty_of(const struct thrum__search *search, const struct pool *pool)
{
	bool has_gate = false;

	for (uint32_t i = 0; i < pool->count && !has_gate; i++) {
		uint32_t on =
			thrum__analyse_graph_waits(&search->graph, pool->tasks[i]).waits[0].on;

		has_gate = thrum__analyse_task_is_object(search->model, on) &&
			!thrum__analyse_task_is_lock(search->model, on) &&
			is_unserved(search, pool->tasks[i]);
	}
	return has_gate && is_open(search) ? THRUM__POSSIBLE : THRUM__LIKELY;
}

/* Those outside the pool that wait for such an object, too, hang for the same cause. */
static void explain_others(struct thrum__search *search, uint32_t blocked)
{
	const struct thrum__analyse_graph *graph = &search->graph;
	uint32_t on = thrum__analyse_graph_waits(graph, blocked).waits[0].on;

	if (!thrum__analyse_task_is_object(search->model, on) || !is_unserved(search, blocked))
		return;
	for (uint32_t i = 1; i <= graph->list_count; i++) {
		const struct thrum__analyse_list *list = &graph->lists[i];

		if (list->count == 0 || graph->waits[list->first].on != on ||
			*thrum__cause(search, list->task) < search->findings->count)
			continue;
		*thrum__cause(search, list->task) = search->findings->count - 1;
		thrum__why_mark(search, list->task, THRUM__MARK_BEHIND);
	}
}

/* Those like the queued one that were made later, and never ran, are behind it. */
static void explain_queued(struct thrum__search *search, struct thrum__finding *finding,
	uint32_t queued)
{
	THRUM__WHY_EACH (search, task, THRUM__SORT_WANTED | THRUM__SORT_OUTSIDE) {
		if (task <= queued || !thrum__why_are_peers(search, queued, task) ||
			!thrum__analyse_task_is_pending(search->model, task) ||
			THRUM__TASK(search->model, task, run) != THRUM__NONE ||
			*thrum__cause(search, task) < search->findings->count)
			continue;
		*thrum__cause(search, task) = search->findings->count - 1;
		thrum__why_mark(search, task, THRUM__MARK_BEHIND);
		finding->behind++;
		finding->alike++;
	}
}

static void add_finding(struct thrum__search *search, const struct pool *pool, uint32_t queued,
	uint32_t thread)
{
	struct thrum__finding *finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
		thrum__why_certainty(search, certainty_of(search, pool), pool->since), queued);

	if (!finding)
		return;
	for (uint32_t i = 0; i < pool->count; i++) {
		const struct thrum__analyse_wait *wait =
			&thrum__analyse_graph_waits(&search->graph, pool->tasks[i]).waits[0];

		if (i < TOLD)
			thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, pool->tasks[i],
				wait->on, wait->since, wait->edge);
		*thrum__cause(search, pool->tasks[i]) = search->findings->count - 1;
		thrum__why_mark(search, pool->tasks[i], THRUM__MARK_STUCK);
	}
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_NEEDS_LANE, queued, thread,
				    THRUM__TASK(search->model, queued, created), THRUM__NONE),
		pool->count - 1);
	*thrum__cause(search, queued) = search->findings->count - 1;
	thrum__why_mark(search, queued, THRUM__MARK_BEHIND);
	for (uint32_t i = 0; i < pool->count; i++)
		explain_others(search, pool->tasks[i]);
	explain_queued(search, finding, queued);
}

/* Whether nobody but the pool and its queue can end the waits of those that block it, and no finding tells of
 * them. */
static bool is_alone(const struct thrum__search *search, const struct pool *pool)
{
	for (uint32_t i = 0; i < pool->count; i++)
		if (*thrum__cause(search, pool->tasks[i]) < search->findings->count ||
			!is_left_to_pool(search, pool, pool->tasks[i]))
			return false;
	return true;
}

static bool are_unserved(const struct thrum__search *search, const struct pool *pool)
{
	for (uint32_t i = 0; i < pool->count; i++)
		if (!is_unserved(search, pool->tasks[i]))
			return false;
	return true;
}

/* Finds the task that is queued behind those that block a pool; NONE: there is none. is_early: only such a
 * pool that waits for what nobody ever served, and that queued a task itself. The items of a pool of GLib's
 * are all alike, so there it always has to be such a task. */
static int find_behind(const struct thrum__search *search, const struct pool *pool, bool is_early,
	uint32_t *queued)
{
	bool *is_run;

	*queued = is_early ? thrum__why_file_behind(search, pool->tasks, pool->count) : THRUM__NONE;
	if (*queued != THRUM__NONE || (is_early && !are_unserved(search, pool)))
		return 0;
	is_run = calloc((size_t)search->peers.keys.count + 1, sizeof *is_run);
	if (!is_run)
		return -THRUM_E_MEMORY;
	find_run_by_others(search, pool, is_run);
	*queued = find_queued(search, pool, is_run);
	free(is_run);
	if (*queued != THRUM__NONE && (is_early || is_of_glib(search->model, pool)) &&
		!is_by_pool(search, pool, *queued))
		*queued = THRUM__NONE;
	return 0;
}

static int find(struct thrum__search *search, bool is_early)
{
	const struct thrum__model *model = search->model;
	struct pool pool;
	uint32_t *threads, queued;
	int error;

	if (!find_threads(search, &pool) || !is_alone(search, &pool))
		return 0;
	error = find_behind(search, &pool, is_early, &queued);
	if (error || queued == THRUM__NONE ||
		*thrum__cause(search, queued) < search->findings->count)
		return error;
	threads = malloc(model->lane_count * sizeof *threads);
	if (!threads)
		return -THRUM_E_MEMORY;
	find_names(search, threads);
	if (!has_free_thread(model, &pool, threads))
		add_finding(search, &pool, queued, threads[pool.lanes[0]]);
	free(threads);
	return 0;
}

int thrum__why_find_unserved_pools(struct thrum__search *search)
{
	return find(search, true);
}

int thrum__why_find_full_pools(struct thrum__search *search)
{
	return find(search, false);
}
