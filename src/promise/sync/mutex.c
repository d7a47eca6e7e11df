/* SPDX-License-Identifier: ISC */
/* Mutexes. A mutex stays locked while it passes to the next waiter, so nobody can lock it in
 * between. */
#include "promise/sync/mutex.h"

struct thrum_mutex {
	struct thrum__promise_wait_queue queue;
	bool is_locked;
};

struct thrum_mutex *thrum__mutex_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct thrum_mutex *mutex = loop ? thrum__promise_allocate(loop, sizeof(*mutex)) : NULL;

	if (mutex)
		thrum__promise_wait_queue_init(&mutex->queue, loop,
			thrum__promise_trace_create(site, THRUM_KIND_LOCK, label));
	return mutex;
}

void thrum_mutex_destroy(struct thrum_mutex *mutex)
{
	if (!mutex)
		return;
	thrum__promise_wait_queue_close(&mutex->queue, THRUM_BROKEN);
	thrum_task_resolve(mutex->queue.task);
	thrum__promise_release(mutex->queue.loop, mutex);
}

/* Takes the lock if it is free, else waits for it. */
static struct thrum_promise *lock_mutex(struct thrum_site *site, struct thrum_mutex *mutex,
	bool is_for_with)
{
	if (!mutex)
		return NULL;
	if (mutex->is_locked)
		return thrum__promise_wait_queue_join(site, &mutex->queue, THRUM_KIND_WAIT, NULL,
			thrum_value_none());
	mutex->is_locked = true;
	if (!is_for_with) /* it records the holder itself */
		thrum_lock_acquired(mutex->queue.task);
	return thrum_promise_return(mutex->queue.loop, thrum_value_none());
}

struct thrum_promise *thrum__mutex_lock(struct thrum_site *site, struct thrum_mutex *mutex)
{
	return lock_mutex(site, mutex, false);
}

/* Passes the lock to the first waiter; without one, unlocks it. */
static void hand_lock_over(struct thrum_mutex *mutex)
{
	struct thrum_resolver *resolver = thrum__promise_wait_queue_pop(&mutex->queue, NULL);
	thrum_task before;

	mutex->is_locked = resolver != NULL;
	if (!resolver)
		return;
	before = thrum__promise_trace_enter(thrum__promise_resolver_task(resolver));
	thrum_lock_acquired(mutex->queue.task);
	thrum__promise_trace_leave(before);
	thrum_resolver_resolve(resolver, thrum_value_none());
}

void thrum_mutex_unlock(struct thrum_mutex *mutex)
{
	if (!mutex || !mutex->is_locked)
		return;
	thrum__promise_loop_check(mutex->queue.loop);
	thrum_lock_released(mutex->queue.task);
	hand_lock_over(mutex);
}

struct thrum_promise *thrum__promise_mutex_prepare(struct thrum_site *site,
	struct thrum_mutex *mutex, struct thrum__promise_waiter **waiter)
{
	return thrum__promise_waiter_create(site, &mutex->queue, waiter);
}

void thrum__promise_mutex_lock_prepared(struct thrum_mutex *mutex,
	struct thrum__promise_waiter *waiter)
{
	thrum_task_wait(thrum__promise_resolver_task(waiter->resolver), mutex->queue.task);
	thrum__promise_wait_queue_append(&mutex->queue, waiter);
	if (!mutex->is_locked)
		hand_lock_over(mutex);
}

static void unlock_mutex(void *thing)
{
	thrum_mutex_unlock(thing);
}

struct thrum_promise *thrum__mutex_with(struct thrum_site *site, struct thrum_mutex *mutex,
	thrum_begin *begin, void *data, thrum_destroy *destroy)
{
	return thrum__promise_with(site, lock_mutex(site, mutex, true),
		mutex ? mutex->queue.task : THRUM_TASK_NONE, unlock_mutex, mutex, begin, data,
		destroy);
}

bool thrum_mutex_is_locked(const struct thrum_mutex *mutex)
{
	return mutex && mutex->is_locked;
}
