/* SPDX-License-Identifier: ISC */
/* Locking without memory, for conditions: what is needed is there before the mutex is unlocked. */
#ifndef PROMISE_MUTEX_H
#define PROMISE_MUTEX_H

#include "promise/waiters.h"

/* A promise for the lock; `waiter` is NULL when that failed. It can't be cancelled. */
struct thrum_promise *thrum__mutex_prepare(struct thrum_site *site, struct thrum_mutex *mutex,
	struct thrum__waiter **waiter);
/* Uses the waiter up. */
void thrum__mutex_lock_prepared(struct thrum_mutex *mutex, struct thrum__waiter *waiter);

#endif
