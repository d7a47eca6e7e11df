/* SPDX-License-Identifier: ISC */
/* The state that task.c and lists.c share. Private to this room. */
#ifndef REPORT_DOCUMENT_TASK_H
#define REPORT_DOCUMENT_TASK_H

#include "report/document/parts.h"

#define THRUM__CHAIN_MAX 64 /* tasks of a chain; a longer one is cut, but keeps its last */

/* The document of a chain: a task with those that became it, and those that it became. */
struct thrum__document_task_writer {
	struct thrum__document_writer w;
	const struct thrum__stats *stats;
	uint32_t tasks[THRUM__CHAIN_MAX]; /* the chain, in the order of becoming */
	unsigned count;
	uint32_t task, heir; /* the task of the document; the last of its chain */
	int64_t start, end;  /* of the chain; the model's end if it has none */
	uint32_t run;        /* the run of that task with which the document begins, or NONE */
	int64_t from, to;    /* of that run; without one, `to` lies before `from` */
};

/* Writes a task's name as a link, with its id if other tasks have that name. */
void thrum__document_tell_task(struct thrum__document_task_writer *, uint32_t task);

/* The same; of a lock's document, first the request for which the task works. */
void thrum__document_tell_for(struct thrum__document_task_writer *, uint32_t task);

/* Writes a share of a time: "7 % of the time"; if the events before that time are lost, "7 % of the 117 ms
 * recorded". */
void thrum__document_tell_part(struct thrum__document_task_writer *, double part, int64_t time,
	bool is_cut);

/* Writes, for a lane's own task, how much the lane ran, and its longest runs. */
void thrum__document_tell_lane_times(struct thrum__document_task_writer *);

/* Writes, for a lock or a semaphore, how often it was held, and who held it longest. */
void thrum__document_tell_lock(struct thrum__document_task_writer *);

/* Writes the name of a lane, or its number. */
void thrum__document_tell_lane(struct thrum__document_task_writer *, uint32_t lane);

/* Writes what the task did in the run with which the document begins, in the order of time. */
void thrum__document_tell_done(struct thrum__document_task_writer *);

/* Writes the sections: log, labels, created tasks, edges, runs. */
void thrum__document_tell_lists(struct thrum__document_task_writer *);

#endif
