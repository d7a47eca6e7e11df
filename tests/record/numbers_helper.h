/* SPDX-License-Identifier: ISC */
/*
 * Numbered events. Each thread counts its own, so that a reader sees whether one is missing, wrong,
 * out of order or there twice. A thread's event number n, counted from 1, is a wait of task WHO +
 * the thread's number for task n.
 */
#ifndef NUMBERS_HELPER_H
#define NUMBERS_HELPER_H

#include "record_helper.h"

#define NUMBERS_WHO 0x40000000u
#define NUMBERS_THREADS 65536u

static inline void numbers_record(uint32_t thread, uint32_t number)
{
	thrum_task_wait(NUMBERS_WHO + thread, number);
}

struct numbers; /* a reader's state */

struct numbers *numbers_create(void);
void numbers_destroy(struct numbers *);

void numbers_see(struct numbers *, const struct thrum_event *, size_t count);

/* Returns the first fault, or NULL. */
const char *numbers_complaint(const struct numbers *);

/* Returns the number of a thread's last event that was seen, or 0. */
uint32_t numbers_last(const struct numbers *, uint32_t thread);
/* Returns the number of events seen. */
uint64_t numbers_seen(const struct numbers *);
/* Returns the number of events missing that were reported as lost, or that can't be known. */
uint64_t numbers_missing(const struct numbers *);

/*
 * Reads a trace to its end and checks its events. Returns the last result of thrum_trace_next,
 * which is 0 if all is well.
 */
int numbers_read(struct numbers *, struct thrum_trace *);

#endif
