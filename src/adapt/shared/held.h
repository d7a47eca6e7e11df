/* SPDX-License-Identifier: ISC */
/* held.c: who has permits of a semaphore for which a thread waits, and that processes share. */
#ifndef ADAPT_HELD_H
#define ADAPT_HELD_H

#include "adapt/base/base.h"
#include "adapt/shared/sets.h"

#define HELD_CHAIN 4 /* processes that are followed */
#define HELD_TOLD (FORKS_PERMITS + HELD_CHAIN)

/* The calling thread waits for a semaphore that processes share. The first three members are set. */
struct held {
	struct wait *wait; /* its object may be NULL as long as it isn't known to be a lock */
	uint64_t key;
	const void *caller;
	/* Those that are told to have permits. lock: the task of the semaphore. */
	struct held_by {
		uint64_t thread;
		thrum_task task, lock;
		bool has_ended;
	} told[HELD_TOLD];
	unsigned told_count;
	bool is_over; /* there is nothing more to find out */
	bool is_timed;
	bool has_own;   /* those that threads of this process have are told */
	bool is_teller; /* of those of this process that wait for the same */
	uint32_t note;  /* by which others know of the wait; FORKS_WAITS: they don't */
};
/* Records who has the permits, if that is known. is_first: only if this process has one. May change errno. */
void thrum__adapt_held_look(struct held *, bool is_first);
/* The same, unless there is nothing more to find out. Then it notes that this thread's wait is told, and
 * returns true. May change errno. */
bool thrum__adapt_held_look_again(struct held *);
/* The wait is about to end: they have them no longer. Keeps errno. */
void thrum__adapt_held_end(struct held *);

#endif
