/* SPDX-License-Identifier: ISC */
/*
 * Mutexes and conditions of GLib's. They are futexes, of which a mutex doesn't tell who holds it. GLib's own
 * are not recorded.
 */
#define _GNU_SOURCE
#include <glib.h>

#include "adapt/glib/glib.h"
#include "adapt/pthread/pthread.h"

REAL(g_mutex_lock)
REAL(g_mutex_trylock)
REAL(g_mutex_unlock)
REAL(g_mutex_clear)
REAL(g_cond_wait)
REAL(g_cond_wait_until)
REAL(g_cond_signal)
REAL(g_cond_broadcast)
REAL(g_cond_clear)

/* ---- Mutexes ----------------------------------------------------------------------------------- */

static NOINLINE void wait_for_mutex(GMutex *mutex, const void *caller)
{
	struct wait wait;

	thrum__adapt_wait_lock(&wait, mutex, NULL, "mutex", caller, false);
	real_g_mutex_lock(caller)(mutex);
	thrum__adapt_wait_lock_end(&wait, true);
}

/* Nothing is recorded yet. The lock is noted, since a thread may wait for it that is made later. A thread
 * that has to wait already may have taken it itself. */
static NOINLINE void lock_early(GMutex *mutex, const void *caller)
{
	if (!is_chosen(ADAPTER_GLIB))
		real_g_mutex_lock(caller)(mutex);
	else if (real_g_mutex_trylock(caller)(mutex))
		take_lock(mutex, caller);
	else if (thrum__adapt_glib_begin())
		wait_for_mutex(mutex, caller);
	else
		real_g_mutex_lock(caller)(mutex);
}

STAND_IN void g_mutex_lock(GMutex *mutex)
{
	const void *caller = CALLER;

	if (UNLIKELY(!may_record(ADAPTER_GLIB)))
		lock_early(mutex, caller);
	else if (LIKELY(real_g_mutex_trylock(caller)(mutex)))
		take_lock(mutex, caller);
	else
		wait_for_mutex(mutex, caller);
}

STAND_IN gboolean g_mutex_trylock(GMutex *mutex)
{
	gboolean is_taken = real_g_mutex_trylock(CALLER)(mutex);

	if (is_taken && may_record(ADAPTER_GLIB))
		take_lock(mutex, CALLER);
	return is_taken;
}

STAND_IN void g_mutex_unlock(GMutex *mutex)
{
	drop_lock(mutex, "mutex");
	real_g_mutex_unlock(CALLER)(mutex);
}

STAND_IN void g_mutex_clear(GMutex *mutex)
{
	if (is_on(ADAPTER_GLIB))
		thrum__adapt_object_end(mutex);
	real_g_mutex_clear(CALLER)(mutex);
}

/* ---- Read-write locks ---------------------------------------------------------------------------- */

static void end_call(const void *const *before)
{
	thrum__adapt_spawner = *before;
}

/* They are those of pthreads, which are recorded with the place of the program's call. */
#define RW_LOCK(type, name, call) \
	REAL(name) \
	STAND_IN type name(GRWLock *lock) \
	{ \
		const void *before \
			__attribute__((cleanup(end_call), unused)) = thrum__adapt_spawner; \
\
		thrum__adapt_spawner = CALLER; \
		call real_##name(CALLER)(lock); \
	}
RW_LOCK(void, g_rw_lock_reader_lock, )
RW_LOCK(void, g_rw_lock_writer_lock, )
RW_LOCK(gboolean, g_rw_lock_reader_trylock, return )
RW_LOCK(gboolean, g_rw_lock_writer_trylock, return )

/* ---- Conditions -------------------------------------------------------------------------------- */

static void begin_wait(struct wait *wait, const GCond *condition, const void *caller, bool is_timed)
{
	struct object *object = thrum__adapt_object_make(condition, THRUM_KIND_CONDITION,
		"condition", caller);

	if (object)
		atomic_store(&object->count, 0);
	thrum__adapt_wait_begin(wait, object, condition, caller, is_timed);
}

__thread bool thrum__adapt_glib_waits;

STAND_IN void g_cond_wait(GCond *condition, GMutex *lock)
{
	const void *caller = CALLER;

	if (!records_wait(ADAPTER_GLIB)) {
		real_g_cond_wait(caller)(condition, lock);
		return;
	}
	struct wait wait;
	bool is_told = thrum__adapt_glib_waits;

	drop_lock(lock, "mutex");
	if (!is_told)
		begin_wait(&wait, condition, caller, false);
	real_g_cond_wait(caller)(condition, lock);
	if (!is_told)
		thrum__adapt_wait_end(&wait);
	take_lock(lock, caller);
}

STAND_IN gboolean g_cond_wait_until(GCond *condition, GMutex *lock, gint64 until)
{
	const void *caller = CALLER;

	if (!records_wait(ADAPTER_GLIB))
		return real_g_cond_wait_until(caller)(condition, lock, until);
	struct wait wait;

	drop_lock(lock, "mutex");
	begin_wait(&wait, condition, caller, true);
	gboolean is_signalled = real_g_cond_wait_until(caller)(condition, lock, until);

	thrum__adapt_wait_end(&wait);
	take_lock(lock, caller);
	return is_signalled;
}

static void tell_signal(const GCond *condition, const void *caller)
{
	if (!is_on(ADAPTER_GLIB))
		return;
	if (thrum__adapt_glib_is_in_run())
		thrum__adapt_glib_signals(condition);
	thrum__adapt_tell_signal(condition, caller);
}

STAND_IN void g_cond_signal(GCond *condition)
{
	tell_signal(condition, CALLER);
	real_g_cond_signal(CALLER)(condition);
}

STAND_IN void g_cond_broadcast(GCond *condition)
{
	tell_signal(condition, CALLER);
	real_g_cond_broadcast(CALLER)(condition);
}

STAND_IN void g_cond_clear(GCond *condition)
{
	if (is_on(ADAPTER_GLIB))
		thrum__adapt_object_end(condition);
	real_g_cond_clear(CALLER)(condition);
}
