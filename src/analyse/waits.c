/* SPDX-License-Identifier: ISC */
/* Makes the graph of all waits, in one pass over the edges. */
#include <stdlib.h>

#include "analyse/graph.h"
#include "base/array.h"

#define LOOK_BACK 4096 /* edges of an object that are searched for its waiters, the latest first */
#define WAITERS 16     /* that are told apart */

/* A wait edge of a pending task for one that is pending. */
struct candidate {
	uint32_t edge, on;
	uint32_t waiter; /* the index of the task's waiter */
};

/* The tasks that have candidates. While the graph is made, `number` has the number of a
 * task's waiter. */
struct waiter {
	uint32_t task, first, count; /* first, count: of its candidates among the graph's waits */
};

struct making {
	struct thrum__analyse_graph *graph;
	struct candidate *candidates;
	uint32_t candidate_count, candidate_room;
	struct waiter *waiters;
	uint32_t waiter_count, waiter_room;
	/* By place of tasks, as far as a waiter's list has come: the number of the latest waiter
	 * whose list has the task, and of the latest that has read or taken the object since. */
	uint32_t *listed, *taken;
};

static uint32_t place_of(const struct thrum__analyse_graph *graph, uint32_t task)
{
	return thrum__place(graph->places, task);
}

/* ---- The edges ------------------------------------------------------------------------------ */

/* The number of a task's waiter, which is made if there is none. There is room for it. */
static uint32_t waiter_of(struct making *m, uint32_t task)
{
	uint32_t *number = &m->graph->number[place_of(m->graph, task)];

	if (*number == 0) {
		m->waiters[m->waiter_count++] = (struct waiter){.task = task};
		*number = m->waiter_count;
	}
	return *number;
}

/* Adds a candidate, for which there is room. */
static void add_candidate(struct making *m, uint32_t edge, uint32_t task, uint32_t on)
{
	uint32_t waiter = waiter_of(m, task) - 1;

	m->candidates[m->candidate_count++] = (struct candidate){.edge = edge,
		.on = on,
		.waiter = waiter};
	m->waiters[waiter].count++;
}

/* Makes room for `count` more candidates and waiters. */
static int make_room(struct making *m, uint32_t count)
{
	void *grown = thrum__base_grow(m->candidates, &m->candidate_room,
		m->candidate_count + (uint64_t)count, sizeof *m->candidates);

	if (!grown)
		return -THRUM_E_MEMORY;
	m->candidates = grown;
	grown = thrum__base_grow(m->waiters, &m->waiter_room, m->waiter_count + (uint64_t)count,
		sizeof *m->waiters);
	if (!grown)
		return -THRUM_E_MEMORY;
	m->waiters = grown;
	return 0;
}

/* Adds the waits of a block of edges, `count` of them. */
static int read_block(struct making *m, const struct thrum__edges *block, uint32_t first,
	uint32_t count)
{
	const struct thrum__model *model = m->graph->model;
	int error = make_room(m, count);

	for (uint32_t i = 0; i < count && error == 0; i++) {
		uint32_t from, on;

		if (block->kind[i] != THRUM__EDGE_WAIT)
			continue;
		from = block->from[i];
		on = block->to[i];
		if (!thrum__analyse_task_is_pending(model, from) ||
			!thrum__model_has_row(&model->tasks, on) ||
			thrum__analyse_task_is_object(model, from))
			continue;
		if (THRUM__TASK(model, on, state) == THRUM__STATE_BECAME)
			on = thrum__model_heir(model, on);
		if (thrum__analyse_task_is_pending(model, on))
			add_candidate(m, first + i, from, on);
	}
	return error;
}

static int read_edges(struct making *m)
{
	const struct thrum__model_rows *edges = &m->graph->model->edges;
	int error = 0;

	for (uint32_t i = edges->first >> THRUM__BLOCK_SHIFT; i < edges->blocks && error == 0;
		i++) {
		uint32_t first = i << THRUM__BLOCK_SHIFT, left = edges->count - first;

		if (edges->block[i])
			error = read_block(m, edges->block[i], first,
				left < THRUM__BLOCK ? left : THRUM__BLOCK);
	}
	return error;
}

/* ---- Locks ---------------------------------------------------------------------------------- */

/* Sets the task that can end a wait for a lock. Locks wait for nothing and so have no list: there
 * `number` is that of the lock. */
static int find_ender(struct thrum__analyse_graph *graph, struct thrum__analyse_wait *wait)
{
	uint32_t *number = &graph->number[place_of(graph, wait->on)];

	if (*number == 0) {
		struct thrum__analyse_lock *grown = thrum__base_grow(graph->locks,
			&graph->lock_room, graph->lock_count + UINT64_C(1), sizeof *grown);
		int error;

		if (!grown)
			return -THRUM_E_MEMORY;
		graph->locks = grown;
		error = thrum__analyse_lock_make(graph->model, wait->on, &grown[graph->lock_count]);
		if (error < 0)
			return error;
		*number = ++graph->lock_count;
	}
	wait->next = thrum__analyse_lock_ender(graph->model, &graph->locks[*number - 1],
		wait->since);
	return 0;
}

/* ---- The lists ------------------------------------------------------------------------------ */

static int make_room_for_waits(struct thrum__analyse_graph *graph, uint64_t count)
{
	struct thrum__analyse_wait *grown = thrum__base_grow(graph->waits, &graph->wait_room, count,
		sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	graph->waits = grown;
	return 0;
}

/* Adds a wait, for which there is room. */
static int add_wait(struct thrum__analyse_graph *graph, const struct thrum__analyse_wait *wait)
{
	struct thrum__analyse_wait *added = &graph->waits[graph->wait_count++];

	*added = *wait;
	graph->has_objects |= thrum__analyse_task_is_object(graph->model, wait->on);
	return thrum__analyse_task_is_lock(graph->model, wait->on) ? find_ender(graph, added) : 0;
}

/* Makes the list of the waits that were added since `first`, if there are any. */
static int add_list(struct thrum__analyse_graph *graph, uint32_t task, uint32_t first)
{
	struct thrum__analyse_list *grown;

	graph->number[place_of(graph, task)] = 0;
	if (graph->wait_count == first)
		return 0;
	grown = thrum__base_grow(graph->lists, &graph->list_room, graph->list_count + UINT64_C(2),
		sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	graph->lists = grown;
	grown[++graph->list_count] = (struct thrum__analyse_list){task, first,
		graph->wait_count - first};
	graph->number[place_of(graph, task)] = graph->list_count;
	return 0;
}

/* Goes back over a task's edges from *edge to `wait`, and notes what the task read or took. Returns
 * false if edges between them are forgotten. */
static bool note_taken(struct making *m, uint32_t number, uint32_t *edge, uint32_t wait)
{
	const struct thrum__model *model = m->graph->model;

	for (; thrum__model_has_row(&model->edges, *edge) && *edge > wait;
		*edge = THRUM__EDGE(model, *edge, prev_out)) {
		int kind = THRUM__EDGE(model, *edge, kind);

		if (kind == THRUM__EDGE_READ ||
			(kind == THRUM__EDGE_LOCK && !thrum__model_was_taken_before(model, *edge)))
			m->taken[place_of(m->graph, THRUM__EDGE(model, *edge, to))] = number;
	}
	return *edge == wait;
}

/* Whether a task's wait, for an object, a handle or a timer, is over: the task read or took it since. */
static bool is_over(struct making *m, uint32_t number, uint32_t *edge,
	const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = m->graph->model;
	bool is_object = thrum__analyse_task_is_object(model, wait->on);
	int kind = THRUM__TASK(model, wait->on, kind);

	if (is_object && wait->is_stale)
		return true;
	if (!is_object && kind != THRUM_KIND_HANDLE && kind != THRUM_KIND_TIMER)
		return false;
	return !note_taken(m, number, edge, wait->edge)
		? is_object
		: m->taken[place_of(m->graph, wait->on)] == number;
}

/* Writes all candidates to the graph's waits: those of one waiter side by side, the latest first. So
 * all that is read and written next is read and written in order. */
static void order_candidates(struct making *m)
{
	const struct thrum__model *model = m->graph->model;
	uint32_t end = 0;

	for (uint32_t i = 0; i < m->waiter_count; i++)
		m->waiters[i].first = end += m->waiters[i].count;
	for (uint32_t i = 0; i < m->candidate_count; i++) {
		const struct candidate *candidate = &m->candidates[i];

		m->graph->waits[--m->waiters[candidate->waiter].first] =
			(struct thrum__analyse_wait){.on = candidate->on,
				.next = candidate->on,
				.edge = candidate->edge,
				.since = THRUM__EDGE(model, candidate->edge, time)};
	}
}

/* Makes the list of a waiter. Overwrites candidates that were read before. */
static int list_waits(struct making *m, uint32_t number)
{
	struct thrum__analyse_graph *graph = m->graph;
	const struct thrum__model *model = graph->model;
	const struct waiter *waiter = &m->waiters[number - 1];
	uint32_t edge = THRUM__TASK(model, waiter->task, edge_out), first = graph->wait_count;
	int64_t ran = thrum__analyse_last_run(model, waiter->task);
	int error = 0;

	for (uint32_t i = 0; i < waiter->count && error == 0; i++) {
		struct thrum__analyse_wait wait = graph->waits[waiter->first + i];
		uint32_t place = place_of(graph, wait.on);

		wait.is_stale = ran > wait.since;
		if (m->listed[place] == number || is_over(m, number, &edge, &wait))
			continue;
		m->listed[place] = number;
		error = add_wait(graph, &wait);
		if (thrum__analyse_waits_only_for(model, waiter->task, wait.on))
			break;
	}
	return error < 0 ? error : add_list(graph, waiter->task, first);
}

/* Adds a wait over a link, the only one of the task. */
static int list_link(struct thrum__analyse_graph *graph, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	int error = make_room_for_waits(graph, graph->wait_count + UINT64_C(1));

	if (error == 0)
		error = add_wait(graph, wait);
	return error == 0 ? add_list(graph, task, graph->wait_count - 1) : error;
}

/* Adds the waits for answers over connections. */
static int list_connections(struct thrum__analyse_graph *graph)
{
	uint32_t count = thrum__model_message_count(graph->model);
	struct thrum__analyse_wait wait;
	int error = 0;

	for (uint32_t i = 0; i < count && error == 0; i++) {
		uint32_t task = thrum__analyse_connection_wait(graph->model, i, &wait);

		if (task != THRUM__NONE && graph->number[place_of(graph, task)] == 0)
			error = list_link(graph, task, &wait);
	}
	return error;
}

/* Adds the waits over links, or for another process, of the tasks that have no others. */
static int list_links(struct thrum__analyse_graph *graph)
{
	const struct thrum__model *model = graph->model;
	struct thrum__analyse_wait wait;
	int error = 0;

	for (uint32_t task = thrum__analyse_next_task(model, 0);
		task < model->tasks.count && error == 0;
		task = thrum__analyse_next_task(model, task + 1)) {
		if (!thrum__analyse_task_is_pending(model, task) ||
			thrum__analyse_task_is_lane(model, task) ||
			thrum__analyse_task_is_object(model, task) ||
			graph->number[place_of(graph, task)] > 0 ||
			!(thrum__analyse_process_wait(model, task, &wait) ||
				thrum__analyse_link_wait(model, task, &wait)))
			continue;
		error = list_link(graph, task, &wait);
	}
	return error;
}

/* ---- The graph ------------------------------------------------------------------------------ */

static int make_lists(struct making *m)
{
	int error = read_edges(m);

	if (error == 0)
		error = make_room_for_waits(m->graph, m->candidate_count);
	if (error == 0)
		order_candidates(m);
	for (uint32_t i = 0; i < m->waiter_count && error == 0; i++)
		error = list_waits(m, i + 1);
	if (error == 0 && m->graph->model->has_connections)
		error = list_connections(m->graph);
	if (error == 0 && (m->graph->model->has_links || m->graph->model->is_joined))
		error = list_links(m->graph);
	return error;
}

int thrum__analyse_graph_make(const struct thrum__model *model, const struct thrum__places *places,
	struct thrum__analyse_graph *graph)
{
	struct thrum__analyse_graph made = {.model = model, .places = places};
	struct making m = {.graph = &made};
	int error = -THRUM_E_MEMORY;

	made.number = calloc(places->count, sizeof *made.number);
	m.listed = calloc(places->count, sizeof *m.listed);
	m.taken = calloc(places->count, sizeof *m.taken);
	if (made.number && m.listed && m.taken)
		error = make_lists(&m);
	free(m.candidates);
	free(m.waiters);
	free(m.listed);
	free(m.taken);
	if (error < 0)
		thrum__analyse_graph_free(&made);
	else
		*graph = made;
	return error;
}

void thrum__analyse_graph_free(struct thrum__analyse_graph *graph)
{
	for (uint32_t i = 0; i < graph->lock_count; i++)
		thrum__analyse_lock_free(&graph->locks[i]);
	free(graph->locks);
	free(graph->waits);
	free(graph->lists);
	free(graph->number);
	*graph = (struct thrum__analyse_graph){0};
}

const struct thrum__analyse_lock *thrum__analyse_graph_lock(const struct thrum__analyse_graph
								    *graph,
	uint32_t task)
{
	uint32_t number = graph->number[place_of(graph, task)];

	return number > 0 && thrum__model_has_row(&graph->model->tasks, task) &&
			thrum__analyse_task_is_lock(graph->model, task)
		? &graph->locks[number - 1]
		: NULL;
}

/* ---- Waits in the past ---------------------------------------------------------------------- */

bool thrum__analyse_had_waiter(const struct thrum__model *model, uint32_t object, int64_t time)
{
	uint32_t seen[WAITERS], count = 0;

	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		uint32_t task = THRUM__EDGE(model, edge, from), at = 0;
		int kind = THRUM__EDGE(model, edge, kind);

		if (THRUM__EDGE(model, edge, time) > time ||
			(kind != THRUM__EDGE_WAIT && kind != THRUM__EDGE_READ))
			continue;
		while (at < count && seen[at] != task)
			at++;
		if (at < count)
			continue;
		if (kind == THRUM__EDGE_WAIT)
			return true;
		if (count == WAITERS)
			return false;
		seen[count++] = task;
	}
	return false;
}
