/* SPDX-License-Identifier: ISC */
/*
 * Cancellables. Handlers of "cancelled" run within g_cancellable_cancel. Until they have returned, whoever
 * disconnects a handler waits, and so does a reset: that is a lock, which the thread that cancels holds. A
 * handler that disconnects itself waits for its own thread.
 */
#define _GNU_SOURCE
#include <gio/gio.h>

#include "adapt/glib/glib.h"

REAL(g_cancellable_cancel)
REAL(g_cancellable_disconnect)
REAL(g_cancellable_is_cancelled)
REAL(g_cancellable_reset)

static struct thrum_category glib = {"glib", 0};
static struct thrum_tag cancels = {"g_cancellable_cancel", &glib, 1, 0, 0};

STAND_IN void g_cancellable_cancel(GCancellable *cancellable)
{
	const void *caller = CALLER;

	if (cancellable && thrum__adapt_glib_begin())
		thrum_tag(&cancels);
	/* A second call calls no handler. */
	bool is_first = cancellable && is_chosen(ADAPTER_GLIB) &&
		!real_g_cancellable_is_cancelled(caller)(cancellable);

	if (is_first)
		take_lock(cancellable, caller);
	real_g_cancellable_cancel(caller)(cancellable);
	if (is_first)
		drop_lock(cancellable, "cancellable");
}

/* Begins to wait if handlers run. Returns whether it waits. */
static bool begin_wait(struct wait *wait, const GCancellable *cancellable, const void *caller)
{
	bool waits = cancellable &&
		thrum__adapt_glib_begin_wait(wait, cancellable, "cancellable", caller);

	thrum__adapt_glib_waits = waits;
	return waits;
}

static void end_wait(struct wait *wait)
{
	thrum__adapt_glib_waits = false;
	thrum__adapt_wait_lock_end(wait, false);
}

STAND_IN void g_cancellable_disconnect(GCancellable *cancellable, gulong handler)
{
	struct wait wait;
	bool waits = handler != 0 && begin_wait(&wait, cancellable, CALLER);

	real_g_cancellable_disconnect(CALLER)(cancellable, handler);
	if (waits)
		end_wait(&wait);
}

STAND_IN void g_cancellable_reset(GCancellable *cancellable)
{
	struct wait wait;
	bool waits = begin_wait(&wait, cancellable, CALLER);

	real_g_cancellable_reset(CALLER)(cancellable);
	if (waits)
		end_wait(&wait);
}
