/* SPDX-License-Identifier: ISC */
/*
 * Queues that threads fill under a lock, and that a loop empties. A pipe wakes the loop. A thread doesn't
 * write to it while an earlier wake-up is under way. The lock is the one that the thread has, or just had,
 * when it writes; the loop's place is where it takes that lock first after it read from the pipe. An item
 * that was put there after the loop took that lock, and with no write since, may lie there unseen.
 */
#ifndef ADAPT_BASE_HANDOVER_H
#define ADAPT_BASE_HANDOVER_H

#include "adapt/base/base.h"

#define HANDOVERS 16

struct handover {
	_Atomic int from;           /* the end of the pipe that is read from, + 1; 0: it is free */
	_Atomic bool is_none;       /* it is used in other ways, too */
	_Atomic uintptr_t lock;     /* of the queue; the place where something is put there, */
	_Atomic uintptr_t put, get; /* and the loop's place; 0: not known */
	_Atomic uint32_t loop;   /* the tid of the thread that reads from the pipe; 0: none yet */
	_Atomic uint32_t gets;   /* turns of the loop in which it took the lock */
	_Atomic uint32_t owner;  /* the tid of who should write next, as the loop rests; or 0 */
	_Atomic bool is_awake;   /* the loop has read from the pipe in this turn, */
	_Atomic bool has_got;    /* and taken the lock */
	_Atomic bool is_written; /* since the loop read from the pipe */
	_Atomic uint32_t unseen; /* how often something was put since the loop's latest look, */
	_Atomic int64_t since;   /* the first time, by rough_time */
	_Atomic uint64_t task;   /* that tells of it; 0: none */
};
extern struct handover thrum__adapt_handovers[HANDOVERS];
extern _Atomic bool thrum__adapt_has_handovers;

static inline bool has_handovers(void)
{
	return atomic_load_explicit(&thrum__adapt_has_handovers, memory_order_relaxed);
}

/* Whether the calling thread has ever taken a lock: only such a thread hands anything over. */
static inline bool has_taken_lock(void)
{
	return thrum__adapt_self &&
		atomic_load_explicit(&thrum__adapt_self->held[0].lock, memory_order_relaxed);
}

/* The calling thread is about to write a few bytes to the pipe that is read from by this descriptor. */
void thrum__adapt_handover_write(int from);
/* It has read from it. */
void thrum__adapt_handover_read(int from);
/* It takes a lock, there. */
void thrum__adapt_handover_take(const struct thread *, uintptr_t lock, uintptr_t caller);
/* It is about to wait for events. */
void thrum__adapt_handover_rest(void);
/* The descriptor is about to be closed. */
void thrum__adapt_handover_forget(int from);
/* In a fork's child: there is none. */
void thrum__adapt_handovers_left(void);
/* Whether something lies unseen in a queue of the calling thread's loop. */
bool thrum__adapt_handover_is_left(const struct handover *);
bool thrum__adapt_has_unseen(void);

#endif
