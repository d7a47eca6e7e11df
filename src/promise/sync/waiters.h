/* SPDX-License-Identifier: ISC */
/*
 * A queue of waiters, served first come, first served. Conditions, mailboxes, locks, semaphores,
 * streams, listeners and processes use it. Each waiter in it is a promise. A waiter whose promise
 * is cancelled leaves the queue.
 */
#ifndef PROMISE_SYNC_WAITERS_H
#define PROMISE_SYNC_WAITERS_H

#include "promise/promise.h"

struct thrum__promise_wait_queue;

struct thrum__promise_waiter {
	struct thrum__promise_waiter *next, *previous;
	struct thrum__promise_wait_queue *queue; /* NULL: in no queue yet */
	struct thrum_resolver *resolver;         /* NULL: nobody waits, only a value is stored */
	struct thrum_value value;                /* that the waiter brought */
};

struct thrum__promise_wait_queue {
	struct thrum_loop *loop;
	thrum_task task; /* of the thing that they wait for */
	struct thrum__promise_waiter *first, *last;
	size_t count;
	bool brings; /* its waiters bring values, and wait for room; others wait for a value */
	bool broken; /* closed: later waiters fail */
};

/* Makes the queue empty and open. */
static inline void thrum__promise_wait_queue_init(struct thrum__promise_wait_queue *queue,
	struct thrum_loop *loop, thrum_task task)
{
	*queue = (struct thrum__promise_wait_queue){.loop = loop, .task = task};
}

/*
 * Returns a promise that waits at the end of the queue. Consumes the value, which waits with it.
 * The promise can be cancelled. It has failed with THRUM_BROKEN if the queue is closed, and with
 * -ENOMEM without memory.
 */
struct thrum_promise *thrum__promise_wait_queue_join(struct thrum_site *site,
	struct thrum__promise_wait_queue *queue, enum thrum_kind kind, const char *label,
	struct thrum_value value);

/* Does the same in two steps: `create` may fail, and then sets `waiter` to NULL; `append` can't.
 * The promise can't be cancelled. `remove` takes the waiter out again and doesn't free it. */
struct thrum_promise *thrum__promise_waiter_create(struct thrum_site *site,
	struct thrum__promise_wait_queue *queue, struct thrum__promise_waiter **waiter);
void thrum__promise_wait_queue_append(struct thrum__promise_wait_queue *queue,
	struct thrum__promise_waiter *waiter);
void thrum__promise_wait_queue_remove(struct thrum__promise_waiter *waiter);

/* Stores a value at the end of the queue. Returns false without memory; the value is then still the
 * caller's. */
bool thrum__promise_wait_queue_push_value(struct thrum__promise_wait_queue *queue,
	struct thrum_value value);

/*
 * Takes the first waiter out of the queue. Returns its resolver, which the caller must use up, and
 * stores the value that it brought; `value` may be NULL when there is none. Returns NULL when the
 * queue is empty, and when the first entry is only a value.
 */
struct thrum_resolver *thrum__promise_wait_queue_pop(struct thrum__promise_wait_queue *queue,
	struct thrum_value *value);

/* Records that the promise of a waiter got the value or the room that it waited for. */
void thrum__promise_wait_queue_record_served(const struct thrum__promise_wait_queue *queue,
	const struct thrum_resolver *resolver);

/* Records that a value was put into the thing, for which the waiters of the queue wait. */
static inline void thrum__promise_wait_queue_record_signal(
	const struct thrum__promise_wait_queue *queue)
{
	thrum_task_signal(queue->task,
		queue->count < UINT32_MAX ? (unsigned)queue->count : UINT32_MAX);
}

/* Moves all waiters to another queue, which is empty. O(waiters). */
void thrum__promise_wait_queue_move(struct thrum__promise_wait_queue *from,
	struct thrum__promise_wait_queue *to);

/* Closes the queue: all waiters fail with the code, those who join later fail with THRUM_BROKEN.
 * Values in the queue are destroyed. */
void thrum__promise_wait_queue_close(struct thrum__promise_wait_queue *queue, int code);

/*
 * Implements the functions called `_with`. When `acquired` is resolved, this calls `begin`; when
 * the promise that `begin` returned has ended, it calls release(thing). Without memory `begin` is
 * not called, and the thing is released. Consumes `acquired`; calls destroy(data) once. `lock` is
 * the thing's task. If the thing was free, this records who holds it.
 */
struct thrum_promise *thrum__promise_with(struct thrum_site *site, struct thrum_promise *acquired,
	thrum_task lock, void (*release)(void *thing), void *thing, thrum_begin *begin, void *data,
	thrum_destroy *destroy);

#endif
