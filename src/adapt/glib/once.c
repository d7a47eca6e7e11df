/* SPDX-License-Identifier: ISC */
/*
 * Work that is done once: a thread that does it holds a lock, for which others wait. One that begins anew
 * meanwhile waits for itself.
 */
#define _GNU_SOURCE
#include <glib.h>

#include "adapt/glib/glib.h"

/* Macros with the names of functions that are wrapped. */
#undef g_once_init_enter
#undef g_once_init_leave

REAL(g_once_impl)
REAL(g_once_init_enter)
REAL(g_once_init_leave)

static bool is_under_way(const void *once)
{
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next)
		if (atomic_load(&t->tid) != 0 && thrum__adapt_thread_holds(t, once))
			return true;
	return false;
}

bool thrum__adapt_glib_begin_wait(struct wait *wait, const void *lock, const char *noun,
	const void *caller)
{
	if (!is_chosen(ADAPTER_GLIB) || !is_under_way(lock) || !thrum__adapt_glib_begin())
		return false;
	thrum__adapt_wait_lock(wait, lock, NULL, noun, caller, false);
	return true;
}

static bool begin_wait(struct wait *wait, const void *once, const void *caller)
{
	return thrum__adapt_glib_begin_wait(wait, once, "once", caller);
}

#define ENTER(name, parameters) \
	STAND_IN gboolean name parameters \
	{ \
		const void *once = (const void *)(uintptr_t)location, *caller = CALLER; \
		struct wait wait; \
		bool waits = begin_wait(&wait, once, caller); \
		gboolean is_first = real_##name(caller)(location); \
\
		if (waits) \
			thrum__adapt_wait_lock_end(&wait, is_first); \
		else if (is_first && is_chosen(ADAPTER_GLIB)) \
			take_lock(once, caller); \
		return is_first; \
	}
#define LEAVE(name, parameters, arguments) \
	STAND_IN void name parameters \
	{ \
		drop_lock((const void *)(uintptr_t)location, "once"); \
		real_##name(CALLER) arguments; \
	}
ENTER(g_once_init_enter, (volatile void *location))
LEAVE(g_once_init_leave, (volatile void *location, gsize result), (location, result))

#if GLIB_CHECK_VERSION(2, 80, 0)
#undef g_once_init_enter_pointer
#undef g_once_init_leave_pointer
REAL(g_once_init_enter_pointer)
REAL(g_once_init_leave_pointer)
ENTER(g_once_init_enter_pointer, (void *location))
LEAVE(g_once_init_leave_pointer, (void *location, gpointer result), (location, result))
#endif

/* ---- g_once ------------------------------------------------------------------------------------- */

struct call {
	const GOnce *once;
	GThreadFunc function;
	gpointer argument;
	const void *caller;
};

static gpointer run(gpointer argument)
{
	const struct call *call = argument;

	take_lock(call->once, call->caller);
	gpointer result = call->function(call->argument);

	drop_lock(call->once, "once");
	return result;
}

STAND_IN gpointer g_once_impl(GOnce *once, GThreadFunc function, gpointer argument)
{
	struct call call = {once, function, argument, CALLER};
	struct wait wait;
	bool waits = begin_wait(&wait, once, CALLER);
	gpointer result = is_chosen(ADAPTER_GLIB)
		? real_g_once_impl(CALLER)(once, run, &call)
		: real_g_once_impl(CALLER)(once, function, argument);

	if (waits)
		thrum__adapt_wait_lock_end(&wait, false);
	return result;
}
