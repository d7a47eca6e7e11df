/* SPDX-License-Identifier: ISC */
/*
 * ipc/: calls that wait for what the kernel has for several processes, and for semaphores and conditions in
 * memory that they share.
 *
 *   semops.c         the kernel's semaphores
 *   messages.c mq.c  queues of messages: of msgget() and of mq_open()
 *   queues.c         looks whether anybody is left who would end a wait for these
 *   posters.c        who should post a semaphore, and waits for who waits for it
 *   shared_waits.c   conditions and semaphores in shared memory
 *   ipc.c            looks whether relatives all wait for each other
 */
#ifndef ADAPT_IPC_H
#define ADAPT_IPC_H

#include "adapt/ends/ends.h"
#include "adapt/relatives/needs.h"
#include "adapt/shared/held.h"

/* ---- ipc.c ---- */

/* Looks at a wait. */
struct ipc_look {
	struct wait *wait;
	enum thrum_kind kind;
	const char *label;
	bool is_begun;   /* the wait; else its task is made */
	uint64_t before; /* not 0: all relatives waited for each other in the look before */
	bool is_soon;    /* the next look may find that */
	int soons;       /* looks that came soon so far */
	uint64_t waits;  /* not 0: in the look before all posters waited for this thread */
};
/* The calling thread waits in a call, or is about to: looks whether it and all its relatives wait for
 * each other. Tells it once two looks agree, and returns true then. Changes errno. */
bool thrum__adapt_ipc_look(struct ipc_look *, const struct process_call *);
/* The ms until the next look, after a look that came so many ms after the one before. */
int thrum__adapt_ipc_pause(struct ipc_look *, int pause);
/* Why the wait is in vain is about to be recorded, or was. */
void thrum__adapt_ipc_tell_begin(struct ipc_look *);
void thrum__adapt_ipc_tell_end(struct ipc_look *);

/* ---- posters.c ---- */

/* The calling thread waits for a semaphore that processes share: looks whether all who ever posted it wait
 * for locks that this thread has. Tells it once two looks agree, and returns true then. May change errno. */
bool thrum__adapt_posters_look(struct ipc_look *, uint64_t key);

/* ---- queues.c ---- */

/* A wait that is noted for relatives, too. */
struct noted_wait {
	struct wait wait;
	uint32_t note; /* FORKS_WAITS: it isn't */
};
void thrum__adapt_noted_wait_end(struct noted_wait *);

/* A wait for a queue. */
struct queue_wait {
	struct ipc_look look;
	uint64_t key;
	const char *name;
	bool sends;
	bool (*has_unread)(uint64_t asked); /* whether there is any message in that queue */
	struct process_call call;
};
/* Looks whether nobody is left who would end the wait, and tells that. Returns whether it has told anything.
 * is_last: it won't look again. Keeps errno. */
bool thrum__adapt_queue_look(struct queue_wait *, bool is_last);
/* The same, unless looks take too much of the time. */
void thrum__adapt_queue_look_once(struct queue_wait *);

/* ---- shared_waits.c ---- */

/* Takes a permit of a semaphore that several processes share, and for which the wait is
 * recorded. Tells meanwhile if it and its relatives all wait for each other. Returns 1 if it is no such
 * semaphore. */
int thrum__adapt_down_shared(struct wait *, void *semaphore, const void *caller);
/* The same while nothing is recorded. Returns true, and starts the recording, once that lasts; else sets the
 * result. Keeps errno if it returns true. */
bool thrum__adapt_down_lasts(void *semaphore, const void *caller, int *result);
/* The wait for a condition that several processes share is recorded, and is about to begin: looks whether the
 * thread and its relatives all wait for each other. Keeps errno. */
void thrum__adapt_condition_look(struct wait *, const void *condition, const void *lock);

#endif
