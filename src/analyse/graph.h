/* SPDX-License-Identifier: ISC */
/*
 * analyse/: answers questions about a model. It has a face for each question:
 *
 *	graph.h        who waits for whom (this file)
 *	label.h        patterns of labels, by which tasks count as alike
 *	why/finding.h  the faults: findings, each from cause to victim
 *	slow/slow.h    where the time of tasks went
 *	diff/diff.h    how two recordings of one program differ
 *	stats/stats.h  counts and durations for tables
 *
 * Nothing here writes sentences, draws, does I/O or changes the model.
 *
 * This file: the graph of waits at the model's end. A task waits for another through its waits, the
 * tasks that these became, locks (for the holder) and links (for the receiver). To ask about an
 * earlier time, read the trace only up to it.
 */
#ifndef ANALYSE_GRAPH_H
#define ANALYSE_GRAPH_H

#include "model/model.h"

#define THRUM__WAITS_MAX 16

/* One wait of a task. */
struct thrum__analyse_wait {
	uint32_t on;   /* the task that it waits for, pending; it has not become another */
	uint32_t next; /* the task that can end the wait: `on`, or a lock's holder; NONE: nobody */
	uint32_t edge; /* the edge by which the wait began; for a link, the edge LINK */
	int64_t since; /* when the wait began */
	bool is_link;  /* the task waits for an answer over a link */
};

static inline bool thrum__analyse_task_is_pending(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, state) == THRUM__STATE_PENDING;
}

static inline bool thrum__analyse_task_is_lane(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, flags) & THRUM__TASK_LANE;
}

/* Whether a task stands for an object that is waited for again and again and never resolves: a
 * condition, lock, semaphore, mailbox or stream. */
bool thrum__analyse_task_is_object(const struct thrum__model *, uint32_t task);

/* Whether a task goes on when any one of its waits ends: kinds choose and pick. */
bool thrum__analyse_task_is_choice(const struct thrum__model *, uint32_t task);

/* Whether a lane runs the task at the model's end. */
bool thrum__analyse_task_is_running(const struct thrum__model *, uint32_t task);

/*
 * Writes the waits of a task, the latest first, and returns how many there are. The task must be
 * the last of those that became one another (thrum__model_heir). Reads the task's last 64 edges.
 */
unsigned thrum__analyse_waits_of(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX]);

/* A promise may stand for the answer to a message: the message that it sent over a link itself, or
 * else the one that its creator sent after it created the promise. If the task that the receiver
 * created for that message is pending, sets *wait and returns 1; else returns 0. */
unsigned thrum__analyse_link_wait(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_wait *wait);

/* Whether thrum__analyse_link_wait may miss a wait of the task, as edges by which it or its creator
 * sent messages may be forgotten. Reads the last 64 edges of both. */
bool thrum__analyse_is_link_forgotten(const struct thrum__model *, uint32_t task);

/* Returns the task that holds a lock, or the latest of those that hold a semaphore, and sets *edge
 * to the edge by which it took the lock. Returns NONE and leaves *edge alone if nobody holds it.
 * Reads the lock's last 64 edges. */
uint32_t thrum__analyse_holder_of(const struct thrum__model *, uint32_t lock, uint32_t *edge);

/* The pending task that goes on for a task: itself, the one that it became, or the latest that read
 * its result, and so on for 16 steps; or NONE. */
uint32_t thrum__analyse_successor_of(const struct thrum__model *, uint32_t task);

/* The first task that was created at that time or later; model->tasks.count if there is none.
 * O(log tasks), and more with the blocks that are forgotten between others. */
uint32_t thrum__analyse_task_from(const struct thrum__model *, int64_t time);

#endif
