/* SPDX-License-Identifier: ISC */
/*
 * Numbered events: each thread counts its own, and whoever reads them sees whether one is missing,
 * wrong, out of order or there twice. A thread's event number n is a wait of WHO + its number for
 * n, n counting from 1.
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

struct numbers; /* what a reader has seen so far */

struct numbers *numbers_create(void);
void numbers_destroy(struct numbers *);

void numbers_see(struct numbers *, const struct thrum_event *, size_t count);

/* What was wrong first, or NULL. */
const char *numbers_complaint(const struct numbers *);

/* The last event of a thread that was seen; 0: none. */
uint32_t numbers_last(const struct numbers *, uint32_t thread);
/* How many were seen. */
uint64_t numbers_seen(const struct numbers *);
/* How many were missing because a reader was told that they were lost, or can't be known. */
uint64_t numbers_missing(const struct numbers *);

/*
 * Reads all there is of a trace, and sees it. Returns what thrum_trace_next returned last, which is
 * 0 if all is well.
 */
int numbers_read(struct numbers *, struct thrum_trace *);

#endif
