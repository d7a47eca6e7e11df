/* SPDX-License-Identifier: ISC */
/* Tells who serves a condition, mailbox, stream or semaphore: who ends the waits for it. */
#include "analyse/why/blame/blame.h"

#define LOOK_BACK 1024    /* edges of an object that are searched, from the latest back */
#define TIMES 10          /* so many times as long as ever is suspicious */
#define HELD_MIN 50000000 /* ns */

static void add_server(const struct thrum__model *model, struct thrum__why_servers *servers,
	uint32_t task, uint32_t edge)
{
	if (!thrum__model_has_row(&model->tasks, task)) {
		servers->is_whole = servers->is_whole && task == THRUM__NONE;
		return;
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

/* Whether a task, or else the one that made it to wait for it, puts into a mailbox or stream: then those who
 * read serve it. */
static bool is_writer(const struct thrum__model *model, uint32_t object, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in), maker = THRUM__NONE;
	int kind = THRUM__TASK(model, object, kind), by_maker = THRUM__EDGE_WAIT;

	if (kind != THRUM_KIND_MAILBOX && kind != THRUM_KIND_STREAM)
		return false;
	if (thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, kind) == THRUM_KIND_WAIT)
		maker = thrum__why_heir_of(model, THRUM__TASK(model, task, creator));
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (from == THRUM__NONE || THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			continue;
		if (from == task)
			return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL;
		if (by_maker == THRUM__EDGE_WAIT && maker != THRUM__NONE &&
			thrum__why_heir_of(model, from) == maker)
			by_maker = THRUM__EDGE(model, edge, kind);
	}
	return by_maker == THRUM__EDGE_SIGNAL;
}

/* Adds the task that resolved one which waited for the object. One that lets a writer write doesn't
 * serve readers, and the other way round. */
static void add_resolver(const struct thrum__model *model, struct thrum__why_servers *servers,
	uint32_t object, uint32_t waiter, int serves)
{
	uint32_t edge;

	if (!thrum__model_has_row(&model->tasks, waiter) ||
		THRUM__TASK(model, waiter, state) != THRUM__STATE_RESOLVED)
		return;
	edge = THRUM__TASK(model, waiter, edge_in);
	THRUM__EDGES_BACK (model, edge, prev_in, 16)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_RESOLVE) {
			if (THRUM__EDGE(model, edge, from) != waiter &&
				is_writer(model, object, waiter) == (serves == THRUM__EDGE_READ))
				add_server(model, servers, THRUM__EDGE(model, edge, from), edge);
			return;
		}
}

/* Whether other processes may serve an object, too, as the adapters' name for it says. */
static bool is_shared(const struct thrum__model *model, uint32_t object)
{
	static const char *const words[] = {"shared "};

	return thrum__why_begins_with(model, object, words, 1);
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

	if (servers->count < 2 || !thrum__analyse_task_is_pending(model, latest) ||
		thrum__analyse_task_is_lane(model, latest) ||
		!thrum__analyse_task_is_lane(model, servers->task[last]) ||
		THRUM__TASK(model, latest, lane) != THRUM__TASK(model, servers->task[last], lane) ||
		!has_only_begun(model, servers->task[last],
			THRUM__EDGE(model, servers->edge[last], time)))
		return;
	servers->count--;
	servers->pending--;
}

void thrum__why_servers_of(const struct thrum__model *model, uint32_t object, uint32_t waiter,
	struct thrum__why_servers *servers)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in);
	int serves = is_writer(model, object, waiter) ? THRUM__EDGE_READ : THRUM__EDGE_SIGNAL;
	unsigned i = 0;

	*servers = (struct thrum__why_servers){.is_whole = true};
	for (; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		switch (THRUM__EDGE(model, edge, kind)) {
		case THRUM__EDGE_SIGNAL:
		case THRUM__EDGE_READ:
		case THRUM__EDGE_UNLOCK:
			if (from != waiter &&
				(THRUM__EDGE(model, edge, kind) == serves ||
					THRUM__EDGE(model, edge, kind) == THRUM__EDGE_UNLOCK))
				add_server(model, servers, from, edge);
			break;
		case THRUM__EDGE_WAIT:
			if (from != waiter)
				add_resolver(model, servers, object, from, serves);
			break;
		default: break;
		}
	}
	servers->is_whole = servers->is_whole && i < LOOK_BACK && !is_shared(model, object) &&
		!thrum__why_is_cut(&model->edges, edge) &&
		!(THRUM__TASK(model, object, flags) & THRUM__TASK_PREEXISTING);
	if (servers->is_whole)
		drop_starter(model, servers);
}

bool thrum__why_is_lock(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph, task);

	return thrum__analyse_task_is_lock(search->model, task) &&
		(THRUM__TASK(search->model, task, kind) == THRUM_KIND_LOCK || !lock ||
			lock->count > 0 || lock->released > 0 || lock->is_cut ||
			search->gap > THRUM__TASK(search->model, task, created));
}

unsigned thrum__why_able_servers(const struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers, unsigned *first)
{
	const struct thrum__model *model = search->model;
	unsigned able = 0;

	for (unsigned i = servers->count; i-- > 0;) {
		uint32_t task = servers->task[i];
		struct thrum__analyse_waits waits;

		if (!thrum__analyse_task_is_pending(model, task))
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count > 0 && waits.waits[0].on == object &&
			thrum__why_is_blocked(model, task, &waits.waits[0]))
			continue;
		able++;
		*first = i;
	}
	return able;
}

uint32_t thrum__why_waits_on(const struct thrum__model *model, uint32_t task, uint32_t object)
{
	uint32_t edge = THRUM__TASK(model, object, edge_in), count = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		count += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__model_has_row(&model->tasks, from) &&
			thrum__model_heir(model, from) == task;
	}
	return count;
}

int64_t thrum__why_waits_since(const struct thrum__model *model, const struct thrum__why_link *link)
{
	uint32_t on = link->wait.on, edge = THRUM__TASK(model, link->task, edge_out), signal;
	int64_t since = link->wait.since, signalled;

	if (link->is_served || THRUM__TASK(model, on, kind) != THRUM_KIND_CONDITION ||
		THRUM__TASK(model, link->task, kind) != THRUM_KIND_THREAD)
		return since;
	signal = thrum__why_edge_to(model, on, THRUM__EDGE_SIGNAL);
	signalled = signal == THRUM__NONE ? -1 : THRUM__EDGE(model, signal, time);
	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, to) == on && THRUM__EDGE(model, edge, time) > signalled;
		i++, edge = thrum__why_act_before(model, edge))
		since = THRUM__EDGE(model, edge, time);
	return since;
}

bool thrum__why_is_held_long(const struct thrum__model *model, uint32_t lock)
{
	uint32_t edge = THRUM__TASK(model, lock, edge_in), held = 0;
	int64_t longest = 0, now = -1, until = -1;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
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
