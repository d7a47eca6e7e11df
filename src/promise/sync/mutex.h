/* SPDX-License-Identifier: ISC */
/* Locking a mutex without allocating, for conditions: a condition allocates the waiter before it
 * unlocks the mutex, so that locking it again can't fail. */
#ifndef PROMISE_SYNC_MUTEX_H
#define PROMISE_SYNC_MUTEX_H

#include "promise/sync/waiters.h"

/* Returns a promise for the lock, which can't be cancelled. Sets `waiter` to NULL if that
 * failed. */
struct thrum_promise *thrum__promise_mutex_prepare(struct thrum_site *site,
	struct thrum_mutex *mutex, struct thrum__promise_waiter **waiter);
/* Locks the mutex for the waiter, now or when its turn comes. Consumes the waiter. */
void thrum__promise_mutex_lock_prepared(struct thrum_mutex *mutex,
	struct thrum__promise_waiter *waiter);

#endif
