/* SPDX-License-Identifier: ISC */
/* What the files on tasks' documents share. Private to this room. */
#ifndef REPORT_DOCUMENT_TASK_H
#define REPORT_DOCUMENT_TASK_H

#include "report/document/parts.h"

#define THRUM__CHAIN_MAX 64 /* tasks that became each other; of more, the last */

struct thrum__document_task_writer {
	struct thrum__document_writer w;
	const struct thrum__stats *stats;
	uint32_t tasks[THRUM__CHAIN_MAX]; /* the chain, the first of it first */
	unsigned count;
	uint32_t task, heir; /* who was asked for; what it became in the end, or itself */
	int64_t start, end;  /* of the chain; the model's end, if it has none */
};

/* Its name, with its id where several have that name: a link. */
void thrum__document_tell_task(struct thrum__document_task_writer *, uint32_t task);

/* The sections: log, labels, what it created, waits, runs. */
void thrum__document_tell_lists(struct thrum__document_task_writer *);

#endif
