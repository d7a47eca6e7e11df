/* SPDX-License-Identifier: ISC */
/* A lock that promises hold. It is handed over while it stays locked: nobody comes in between. */
#include "promise/mutex.h"

struct thrum_mutex {
	struct thrum__line line;
	bool is_locked;
};

struct thrum_mutex *thrum__mutex_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct thrum_mutex *mutex = loop ? thrum__allocate(loop, sizeof(*mutex)) : NULL;

	if (mutex)
		mutex->line = thrum__line_of(loop,
			thrum__trace_create(site, THRUM_KIND_LOCK, label));
	return mutex;
}

void thrum_mutex_destroy(struct thrum_mutex *mutex)
{
	if (!mutex)
		return;
	thrum__line_break(&mutex->line, THRUM_BROKEN);
	thrum_task_resolve(mutex->line.task);
	thrum__release(mutex->line.loop, mutex);
}

struct thrum_promise *thrum__mutex_lock(struct thrum_site *site, struct thrum_mutex *mutex)
{
	if (!mutex)
		return NULL;
	if (mutex->is_locked)
		return thrum__line_join(site, &mutex->line, THRUM_KIND_WAIT, NULL,
			thrum_value_none());
	mutex->is_locked = true;
	thrum_lock_acquired(mutex->line.task);
	return thrum_promise_return(mutex->line.loop, thrum_value_none());
}

/* To the first in line, if anybody is there. */
static void hand_over(struct thrum_mutex *mutex)
{
	struct thrum_resolver *resolver = thrum__line_serve(&mutex->line, NULL);
	thrum_task before;

	mutex->is_locked = resolver != NULL;
	if (!resolver)
		return;
	before = thrum__trace_enter(thrum__resolver_task(resolver));
	thrum_lock_acquired(mutex->line.task);
	thrum__trace_leave(before);
	thrum_resolver_resolve(resolver, thrum_value_none());
}

void thrum_mutex_unlock(struct thrum_mutex *mutex)
{
	if (!mutex || !mutex->is_locked)
		return;
	thrum__loop_check(mutex->line.loop);
	thrum_lock_released(mutex->line.task);
	hand_over(mutex);
}

struct thrum_promise *thrum__mutex_prepare(struct thrum_site *site, struct thrum_mutex *mutex,
	struct thrum__waiter **waiter)
{
	return thrum__waiter_create(site, &mutex->line, waiter);
}

void thrum__mutex_lock_prepared(struct thrum_mutex *mutex, struct thrum__waiter *waiter)
{
	thrum_task_wait(thrum__resolver_task(waiter->resolver), mutex->line.task);
	thrum__line_append(&mutex->line, waiter);
	if (!mutex->is_locked)
		hand_over(mutex);
}

static void unlock(void *thing)
{
	thrum_mutex_unlock(thing);
}

struct thrum_promise *thrum__mutex_with(struct thrum_site *site, struct thrum_mutex *mutex,
	thrum_begin *begin, void *data, thrum_destroy *destroy)
{
	return thrum__with(site, thrum__mutex_lock(site, mutex), unlock, mutex, begin, data,
		destroy);
}

bool thrum_mutex_is_locked(const struct thrum_mutex *mutex)
{
	return mutex && mutex->is_locked;
}
