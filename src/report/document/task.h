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
};

/* Writes a task's name as a link, with its id if other tasks have that name. */
void thrum__document_tell_task(struct thrum__document_task_writer *, uint32_t task);

/* Writes, for a lock or a semaphore, how often it was held, and who held it longest. */
void thrum__document_tell_lock(struct thrum__document_task_writer *);

/* Writes the sections: log, labels, created tasks, edges, runs. */
void thrum__document_tell_lists(struct thrum__document_task_writer *);

#endif
