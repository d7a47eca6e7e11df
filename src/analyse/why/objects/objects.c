/* SPDX-License-Identifier: ISC */
/* Tells who serves a condition, mailbox, stream or semaphore: who ends the waits for it. */
#include "analyse/why/objects/objects.h"

#define ENDS_BACK 64      /* edges of a task, back to the end of its wait */
#define LOOK_BACK 1024    /* edges of an object that are searched, from the latest back */
#define TIMES 10          /* so many times as long as ever is suspicious */
#define HELD_MIN 50000000 /* ns */

/* A task that only waited for the object counts as the one that got what came. */
static void add_server(const struct thrum__model *model, struct thrum__why_servers *servers,
	uint32_t task, uint32_t edge)
{
	if (!thrum__model_has_row(&model->tasks, task)) {
		servers->is_whole = servers->is_whole && task == THRUM__NONE;
		return;
	}
	if (THRUM__TASK(model, task, kind) == THRUM_KIND_WAIT &&
		THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED) {
		uint32_t reader = thrum__why_actor_to(model, task, THRUM__EDGE_READ);

		task = reader == THRUM__NONE ? task : reader;
	}
	task = thrum__model_heir(model, task);
	if (thrum__why_is_server(servers, task))
		return;
	if (servers->count == THRUM__SERVERS_MAX) {
		servers->is_whole = false;
		return;
	}
	servers->task[servers->count] = task;
	servers->edge[servers->count++] = edge;
	servers->pending += thrum__analyse_task_is_pending(model, task);
}

/* Whether two tasks are waits that began in the same place: for the same, to put or to take something. */
static bool is_same_wait(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	return thrum__model_has_row(&model->tasks, a) && thrum__model_has_row(&model->tasks, b) &&
		THRUM__TASK(model, a, kind) == THRUM_KIND_WAIT &&
		THRUM__TASK(model, b, kind) == THRUM_KIND_WAIT && THRUM__TASK(model, a, site) > 0 &&
		THRUM__TASK(model, a, site) == THRUM__TASK(model, b, site);
}

bool thrum__why_is_writer(const struct thrum__model *model, uint32_t object, uint32_t task)
{
	uint32_t maker = THRUM__NONE;
	int kind = THRUM__TASK(model, object, kind), by_maker = THRUM__EDGE_WAIT;

	if (kind != THRUM_KIND_MAILBOX && kind != THRUM_KIND_STREAM)
		return false;
	if (thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, kind) == THRUM_KIND_WAIT)
		maker = thrum__why_heir_of(model, THRUM__TASK(model, task, creator));
	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (from == THRUM__NONE || THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			continue;
		if (from == task || is_same_wait(model, from, task))
			return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL;
		if (by_maker == THRUM__EDGE_WAIT && maker != THRUM__NONE &&
			thrum__why_heir_of(model, from) == maker)
			by_maker = THRUM__EDGE(model, edge, kind);
	}
	return by_maker == THRUM__EDGE_SIGNAL;
}

/* Whether a handle or timer waited for an object in its callback, and went on: who ended it later ended no
 * wait. */
static bool went_on(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	int sort = THRUM__TASK(model, task, kind);

	if (sort != THRUM_KIND_HANDLE && sort != THRUM_KIND_TIMER)
		return false;
	THRUM__EDGES_FROM (model, task, edge, ENDS_BACK)
		if (THRUM__EDGE(model, edge, to) == object)
			return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ;
	return false;
}

/* Adds the task that resolved one which waited for the object. One that lets a writer write doesn't
 * serve readers, and the other way round. */
static void add_resolver(const struct thrum__model *model, struct thrum__why_servers *servers,
	uint32_t object, uint32_t waiter, int serves)
{
	uint32_t edge;

	if (!thrum__model_has_row(&model->tasks, waiter) ||
		THRUM__TASK(model, waiter, state) != THRUM__STATE_RESOLVED ||
		went_on(model, waiter, object))
		return;
	edge = thrum__why_edge_to(model, waiter, THRUM__EDGE_RESOLVE);
	if (edge != THRUM__NONE && THRUM__EDGE(model, edge, from) != waiter &&
		thrum__why_is_writer(model, object, waiter) == (serves == THRUM__EDGE_READ))
		add_server(model, servers, THRUM__EDGE(model, edge, from), edge);
}

/* Whether other processes may serve an object, too, as the adapters' name for it says. */
static bool is_shared(const struct thrum__model *model, uint32_t object)
{
	return THRUM__BEGINS_WITH(model, object, "shared ");
}

/* Whether a thread served an object only before it first waited for work in its loop, at `time` for the last
 * time. */
static bool has_only_begun(const struct thrum__model *model, uint32_t thread, int64_t time)
{
	uint32_t row = model->suspensions.first;

	while (thrum__model_has_row(&model->suspensions, row) &&
		THRUM__SUSPENSION(model, row, lane) != THRUM__TASK(model, thread, lane))
		row++;
	return thrum__model_has_row(&model->suspensions, row) &&
		thrum__why_rests_for(model, row, THRUM__REASON_WORK) &&
		THRUM__SUSPENSION(model, row, start) > time;
}

/* Leaves out a thread's own task that only put the first things into a mailbox or stream, before its loop
 * began: since then a task of the loop does so. */
static void drop_starter(const struct thrum__model *model, struct thrum__why_servers *servers)
{
	uint32_t last = servers->count - 1, latest = servers->task[0];

	if (servers->count < 2 || thrum__analyse_task_is_lane(model, latest) ||
		!thrum__analyse_task_is_lane(model, servers->task[last]) ||
		THRUM__TASK(model, latest, lane) != THRUM__TASK(model, servers->task[last], lane) ||
		!has_only_begun(model, servers->task[last],
			THRUM__EDGE(model, servers->edge[last], time)))
		return;
	servers->count--;
	servers->pending--;
}

/* The task that acts by an edge: for a wait, the one that goes on after it. */
static uint32_t server_at(const struct thrum__model *model, uint32_t edge)
{
	uint32_t from = THRUM__EDGE(model, edge, from), next;

	if (!thrum__model_has_row(&model->tasks, from) ||
		THRUM__TASK(model, from, kind) != THRUM_KIND_WAIT)
		return from;
	next = thrum__why_actor_to(model, from, THRUM__EDGE_READ);
	return next == THRUM__NONE ? from : next;
}

void thrum__why_servers_of(const struct thrum__model *model, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *servers)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in);
	int serves = thrum__why_is_writer(model, object, waiter) ? THRUM__EDGE_READ
								 : THRUM__EDGE_SIGNAL;

	*servers = (struct thrum__why_servers){.is_whole = true};
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);
		int kind = THRUM__EDGE(model, edge, kind);

		if (from == waiter)
			continue;
		if (kind == serves || kind == THRUM__EDGE_UNLOCK)
			add_server(model, servers, server_at(model, edge), edge);
		else if (kind == THRUM__EDGE_WAIT)
			add_resolver(model, servers, object, from, serves);
	}
	servers->is_whole &= edge == THRUM__NONE && !is_shared(model, object) &&
		!(THRUM__TASK(model, object, flags) & THRUM__TASK_PREEXISTING);
	if (servers->is_whole)
		drop_starter(model, servers);
}

bool thrum__why_is_lock(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph, task);

	return thrum__analyse_task_is_lock(search->model, task) &&
		(THRUM__TASK(search->model, task, kind) == THRUM_KIND_LOCK || !lock ||
			lock->count > 0 || (lock->released > 0 && lock->strange == 0) ||
			lock->is_cut || search->gap > THRUM__TASK(search->model, task, created));
}

bool thrum__why_may_serve(const struct thrum__search *search, uint32_t task, uint32_t object)
{
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

	return !wait || wait->on != object || !thrum__why_is_blocked(search->model, task, wait);
}

unsigned thrum__why_able_servers(const struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers, unsigned *first)
{
	const struct thrum__model *model = search->model;
	unsigned able = 0;

	for (unsigned i = servers->count; i-- > 0;) {
		uint32_t task = servers->task[i];

		if (!thrum__analyse_task_is_pending(model, task) ||
			!thrum__why_may_serve(search, task, object))
			continue;
		able++;
		*first = i;
	}
	return able;
}

uint32_t thrum__why_waits_on(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	uint32_t count = 0;

	THRUM__EDGES_TO (model, object, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		count += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__why_heir_of(model, from) == task;
	}
	return count;
}

int64_t thrum__why_waits_again(const struct thrum__model *model, uint32_t task, uint32_t object,
	int64_t from, int64_t since)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, to) == object && THRUM__EDGE(model, edge, time) > from;
		i++, edge = thrum__why_act_before(model, edge))
		since = THRUM__EDGE(model, edge, time);
	return since;
}

int64_t thrum__why_waits_since(const struct thrum__model *model, const struct thrum__why_link *link)
{
	uint32_t on = link->wait.on, signal;

	if (link->is_served || THRUM__TASK(model, on, kind) != THRUM_KIND_CONDITION ||
		THRUM__TASK(model, link->task, kind) != THRUM_KIND_THREAD)
		return link->wait.since;
	signal = thrum__why_edge_to(model, on, THRUM__EDGE_SIGNAL);
	return thrum__why_waits_again(model, link->task, on,
		signal == THRUM__NONE ? -1 : THRUM__EDGE(model, signal, time), link->wait.since);
}

bool thrum__why_is_held_long(const struct thrum__model *model, uint32_t lock)
{
	uint32_t held = 0;
	int64_t longest = 0, now = -1, until = -1;

	THRUM__EDGES_TO (model, lock, edge, LOOK_BACK) {
		int64_t time = THRUM__EDGE(model, edge, time);

		switch (THRUM__EDGE(model, edge, kind)) {
		case THRUM__EDGE_UNLOCK: until = time; break;
		case THRUM__EDGE_LOCK:
			if (until < 0 && now < 0) {
				now = model->end - time;
			} else if (until >= 0) {
				held++;
				longest = until - time > longest ? until - time : longest;
				until = -1;
			}
			break;
		default: break;
		}
	}
	return held > 0 && now >= HELD_MIN && now / TIMES > longest;
}
