/* SPDX-License-Identifier: ISC */
/*
 * analyse/: answers questions about a model. It has a face for each question:
 *
 *	graph.h        who waits for whom (this file)
 *	locks.h        who holds a lock
 *	places.h       arrays with an element for each task
 *	label.h        patterns of labels, by which tasks count as alike
 *	odd.h          runs that left out what others like them did
 *	why/finding.h  the faults: findings, each from cause to victim
 *	slow/slow.h    where the time of tasks went
 *	diff/diff.h    how two recordings of one program differ
 *	stats/stats.h  counts and durations for tables
 *	family/family.h  for whom tasks work, and groups of them
 *	bands/bands.h  what each group did over time, threads and queues
 *	story/story.h  the path of a task as boxes over real time
 *
 * Nothing here writes sentences, draws, does I/O or changes the model.
 *
 * This file: the graph of waits at the model's end. A task waits for another through its waits, the
 * tasks that these became, locks (for the holder) and links (for the receiver). To ask about an
 * earlier time, read the trace only up to it.
 */
#ifndef ANALYSE_GRAPH_H
#define ANALYSE_GRAPH_H

#include "analyse/locks.h"
#include "analyse/places.h"
#include "model/model.h"

#define THRUM__WAITS_MAX 16

/* One wait of a task. */
struct thrum__analyse_wait {
	int64_t since; /* when the wait began */
	uint32_t on;   /* the task that it waits for, pending; it has not become another */
	/* The task that can end the wait: `on`, or one of a lock's holders. NONE: nobody can, as no
	 * task holds the lock, or one does that has ended, or the lock goes to others. */
	uint32_t next;
	uint32_t edge; /* the edge by which the wait began; for a link, the edge LINK */
	bool is_link;  /* the task waits for an answer over a link */
	bool is_child; /* the same, but it stands for a child, and waits for the child's only thread */
	bool is_room;  /* the same, but for room in a connection, which only one task ever reads */
	bool is_stale; /* the task began to run again since, so it may have given up this wait */
};

static inline bool thrum__analyse_task_is_pending(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, state) == THRUM__STATE_PENDING &&
		!thrum__model_is_gone(model, task);
}

static inline bool thrum__analyse_task_is_lane(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, flags) & THRUM__TASK_LANE;
}

/* Whether a task stands for an object that is waited for again and again and never resolves: a
 * condition, lock, semaphore, mailbox or stream. */
static inline bool thrum__analyse_task_is_object(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_CONDITION:
	case THRUM_KIND_LOCK:
	case THRUM_KIND_SEMAPHORE:
	case THRUM_KIND_MAILBOX:
	case THRUM_KIND_STREAM: return true;
	default: return false;
	}
}

/* Whether a task goes on when any one of its waits ends: kinds choose and pick. */
bool thrum__analyse_task_is_choice(const struct thrum__model *, uint32_t task);

/* Whether a lane runs the task at the model's end. */
bool thrum__analyse_task_is_running(const struct thrum__model *, uint32_t task);

/* ---- All waits ------------------------------------------------------------------------------ */

/* The waits of one task, the latest first. */
struct thrum__analyse_waits {
	const struct thrum__analyse_wait *waits;
	uint32_t count;
};

/* The waits of a task in the graph: those from `first` on. */
struct thrum__analyse_list {
	uint32_t task, first, count;
};

/* The waits of all tasks, and the locks among those that they wait for: for searches that look at
 * many tasks. */
struct thrum__analyse_graph {
	const struct thrum__model *model;
	const struct thrum__places *places;
	uint32_t
		*number; /* by place of tasks: of its list, or of the lock + 1; 0: it has neither */
	struct thrum__analyse_list *lists; /* from 1 to list_count */
	uint32_t list_count, list_room;
	struct thrum__analyse_wait *waits;
	uint32_t wait_count, wait_room;
	struct thrum__analyse_lock *locks; /* those that some task waits for */
	uint32_t lock_count, lock_room;
	bool has_objects; /* some task waits for an object */
};

/* Finds the waits of all tasks. The model and the places must outlive *graph. Returns 0 or
 * -THRUM_E_MEMORY. Free *graph with thrum__analyse_graph_free. O(tasks + edges). */
THRUM__MUST_USE int thrum__analyse_graph_make(const struct thrum__model *,
	const struct thrum__places *, struct thrum__analyse_graph *);
void thrum__analyse_graph_free(struct thrum__analyse_graph *);

/* The number of a task's list, or 0 if it has no waits. The task must be the last of those that
 * became one another (thrum__model_heir). Takes constant time, and so do the next ones. */
static inline uint32_t thrum__analyse_graph_list(const struct thrum__analyse_graph *graph,
	uint32_t task)
{
	uint32_t number = graph->number[thrum__place(graph->places, task)];

	return number > 0 && thrum__analyse_task_is_object(graph->model, task) ? 0 : number;
}

/* The waits of such a task, or none. */
static inline struct thrum__analyse_waits
thrum__analyse_graph_waits(const struct thrum__analyse_graph *graph, uint32_t task)
{
	uint32_t number = thrum__analyse_graph_list(graph, task);
	const struct thrum__analyse_list *list;

	if (number == 0)
		return (struct thrum__analyse_waits){NULL, 0};
	list = &graph->lists[number];
	return (struct thrum__analyse_waits){&graph->waits[list->first], list->count};
}

/* A lock that some task waits for, or NULL. */
const struct thrum__analyse_lock *thrum__analyse_graph_lock(const struct thrum__analyse_graph *,
	uint32_t task);

/* for (; …; …): back in time from an edge on, at most so many: along prev_in those that lead to a task, along
 * prev_out those by which it acts. Moves `edge`: behind the last it is NONE, or one that is forgotten. */
#define THRUM__EDGES_BACK(model, edge, prev, most) \
	for (unsigned left_##prev = (most); \
		left_##prev > 0 && thrum__model_has_row(&(model)->edges, edge); \
		left_##prev--, edge = THRUM__EDGE(model, edge, prev))

/* The same for those of one kind. */
#define THRUM__EDGES_OF(model, edge, prev, most, wanted) \
	THRUM__EDGES_BACK (model, edge, prev, most) \
		if (THRUM__EDGE(model, edge, kind) == (wanted))

/* for (uint32_t edge = …; …; …): the edges that lead to a task, and those by which it acts. The latest come
 * first, at most so many. */
#define THRUM__EDGES_TO(model, task, edge, most) \
	for (uint32_t edge = THRUM__TASK(model, task, edge_in), left_##edge = (most); \
		left_##edge > 0 && thrum__model_has_row(&(model)->edges, edge); \
		left_##edge--, edge = THRUM__EDGE(model, edge, prev_in))
#define THRUM__EDGES_FROM(model, task, edge, most) \
	for (uint32_t edge = THRUM__TASK(model, task, edge_out), left_##edge = (most); \
		left_##edge > 0 && thrum__model_has_row(&(model)->edges, edge); \
		left_##edge--, edge = THRUM__EDGE(model, edge, prev_out))

/* The same for those of one kind. */
#define THRUM__ACTS_ON(model, task, edge, most, wanted) \
	THRUM__EDGES_TO (model, task, edge, most) \
		if (THRUM__EDGE(model, edge, kind) == (wanted))
#define THRUM__ACTS_OF(model, task, edge, most, wanted) \
	THRUM__EDGES_FROM (model, task, edge, most) \
		if (THRUM__EDGE(model, edge, kind) == (wanted))

/* The same for the model's runs, from the last one back, and for the notes of a task. */
#define THRUM__RUNS_BACK(model, run, most) \
	for (uint32_t run = (model)->runs.count, left_##run = (most); left_##run > 0 && \
		run-- > (model)->runs.first && thrum__model_has_row(&(model)->runs, run); \
		left_##run--)
#define THRUM__NOTES_BACK(model, note, most) \
	for (unsigned left_##note = (most); \
		left_##note > 0 && thrum__model_has_row(&(model)->notes, note); \
		left_##note--, note = THRUM__NOTE(model, note, prev))

/* ---- The waits of one task ------------------------------------------------------------------ */

/*
 * Writes the waits of a task, the latest first, and returns how many there are. The task must be
 * the last of those that became one another (thrum__model_heir). Reads the task's last 4096 edges,
 * and of each lock the last 64 times that it was taken or released.
 */
unsigned thrum__analyse_waits_of(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX]);

/* Whether a wait for `on` is the only one of a task, whatever it waited for before: a thread asks for a lock
 * at once, so a signal's handler asked if the thread waited already. */
static inline bool thrum__analyse_waits_only_for(const struct thrum__model *model, uint32_t task,
	uint32_t on)
{
	return thrum__analyse_task_is_lane(model, task) && thrum__analyse_task_is_lock(model, on);
}

/* When a task began to run last: a wait that began earlier is stale. -1 if that isn't known, and for
 * a lane's own task, which runs whenever no other does. */
int64_t thrum__analyse_last_run(const struct thrum__model *, uint32_t task);

/* Whether some task waited for an object at a time: then a signal would have been recorded. Reads at most
 * 4096 edges. */
bool thrum__analyse_had_waiter(const struct thrum__model *, uint32_t object, int64_t time);

/* The task that can end a wait for a lock which began at `since`: see thrum__analyse_wait. If there
 * are several, the latest that doesn't run. */
uint32_t thrum__analyse_lock_ender(const struct thrum__model *, const struct thrum__analyse_lock *,
	int64_t since);

/* A promise may stand for the answer to a message: the message that it sent over a link itself, or
 * else the one that its creator sent after it created the promise. If the task that the receiver
 * created for that message is pending, sets *wait and returns 1; else returns 0. */
unsigned thrum__analyse_link_wait(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait *wait);

/* The same task, whether or not it has ended, if this one has a name and should resolve; or NONE. */
uint32_t thrum__analyse_task_server(const struct thrum__model *, uint32_t task);

/* If a task waits for what comes over a connection in one direction, by the number of its key, and another
 * one should answer, sets *wait and returns the task that waits; else returns NONE. */
uint32_t thrum__analyse_connection_wait(const struct thrum__model *, uint32_t number,
	struct thrum__analyse_wait *wait);

/* If a task stands for a forked child ("process 12 (worker)") that is recorded, too, and whose only thread
 * waits, sets *wait to a wait for that thread, and returns 1; else returns 0. The same for a request for the
 * child's end ("process 12"): if another process of the trace tells for what the child waits, the wait is for
 * the task that tells so. */
unsigned thrum__analyse_process_wait(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait *wait);

/* Whether thrum__analyse_link_wait may miss a wait of the task, as edges by which it or its creator
 * sent messages may be forgotten. Reads the last 64 edges of both. */
bool thrum__analyse_is_link_forgotten(const struct thrum__model *, uint32_t task);

/* The first task that was created at that time or later; model->tasks.count if there is none.
 * O(log tasks), and more with the blocks that are forgotten between others. */
uint32_t thrum__analyse_task_from(const struct thrum__model *, int64_t time);

/* The same for edges by their time, and for runs by their start. */
uint32_t thrum__analyse_edge_from(const struct thrum__model *, int64_t time);
uint32_t thrum__analyse_run_from(const struct thrum__model *, int64_t time);

/* The latest of the tasks that became this one, or NONE. Reads the last 4,096 edges to it. */
uint32_t thrum__analyse_task_before(const struct thrum__model *, uint32_t task);

/* Whether a task has no name and only hands on results of others, as a bind does. */
bool thrum__analyse_task_is_plain(const struct thrum__model *, uint32_t task);

/* The task by whose name people know this one: the nearest above it, along those that wait for it or
 * else its creators, that is not plain; or else itself. */
uint32_t thrum__analyse_task_known_as(const struct thrum__model *, uint32_t task);

/* The request for which a task works: the highest of itself and those above it that has a name and should
 * resolve. NONE: there is none. */
uint32_t thrum__analyse_task_request(const struct thrum__model *, uint32_t task);

/* The request on which a run worked: the one with which the running task, or one that it became, had to do
 * in that run; else the one for which it works. NONE: there is none, or several. */
uint32_t thrum__analyse_run_request(const struct thrum__model *, uint32_t run);

#endif
