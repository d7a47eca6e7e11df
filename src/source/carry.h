/* SPDX-License-Identifier: ISC */
/* The tasks that are alive when a copied stretch of time begins. Private to src/source. */
#ifndef SOURCE_CARRY_H
#define SOURCE_CARRY_H

#include "format/format.h"
#include "thrum/trace.h"

/* A table of live tasks as it was at a time. */
struct thrum__source_carried {
	struct thrum__live_task *cells;
	uint64_t count;
};

/* Makes an empty table for a recording. Returns 0 or -THRUM_E_MEMORY. */
int thrum__source_carried_init(struct thrum__source_carried *, const struct thrum__header *);
void thrum__source_carried_finish(struct thrum__source_carried *);

/* Reads the events of a trace before a time in ticks, or as far as it can be read. */
void thrum__source_carried_read(const struct thrum__source_carried *, struct thrum_trace *,
	uint64_t until);

/* Completes the table of a copy that begins at a time. Returns 0 or a negative enum thrum_error. */
int thrum__source_carried_write(const struct thrum__source_carried *, int fd, uint64_t from);

#endif
