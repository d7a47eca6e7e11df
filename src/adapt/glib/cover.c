/* SPDX-License-Identifier: ISC */
/*
 * Loops of another context, which a callback of the default context runs. Until such a loop ends, no source
 * of the default context runs. If the loop has no source, all other threads rest, and a source that is ready
 * was attached to the default context meanwhile, then the loop waits in vain. Often it was to get just that
 * source: its context wasn't pushed as the thread's default.
 */
#include <string.h>

#include "adapt/glib/glib.h"
#include "adapt/look/look.h"

#define LONG INT64_C(300000000) /* ns since the source came */

static struct {
	struct thread *_Atomic thread; /* that runs it; NULL: there is none */
	_Atomic uint64_t loop;
	const void *_Atomic caller;
	_Atomic uint64_t source; /* the first that is ready in the default context; NONE */
	_Atomic int64_t since;   /* when the last one came */
	_Atomic uint64_t told;   /* NONE: nothing was told of it */
} cover;

void thrum__adapt_glib_covers(const struct glib_running *running, thrum_task loop,
	const void *caller)
{
	if (!running->is_cover)
		return;
	atomic_store(&cover.source, THRUM_TASK_NONE);
	atomic_store(&cover.loop, loop);
	atomic_store(&cover.caller, caller);
	atomic_store(&cover.thread, thrum__adapt_self);
}

void thrum__adapt_glib_uncovers(void)
{
	atomic_store(&cover.thread, NULL);
	resolve_told(&cover.told);
}

void thrum__adapt_glib_waits_for_default(thrum_task source)
{
	uint64_t none = THRUM_TASK_NONE;

	if (!atomic_load_explicit(&cover.thread, memory_order_relaxed))
		return;
	atomic_store(&cover.since, rough_time());
	atomic_compare_exchange_strong(&cover.source, &none, source);
}

/* Whether the calling thread runs the loop, and no other one within it. */
static bool is_covering(void)
{
	return thrum__adapt_self && atomic_load(&cover.thread) == thrum__adapt_self &&
		thrum__adapt_glib_is_covered();
}

/* Whether a source waits, and nothing can come that the loop would take. */
static bool is_in_vain(const struct looking *looking)
{
	return atomic_load(&cover.source) && looking->is_endless && looking->alone >= 0 &&
		!thrum__adapt_had_handlers() && rough_time() - atomic_load(&cover.since) >= LONG &&
		thrum__adapt_others_rest(looking);
}

thrum_task thrum__adapt_glib_tell_covered(void)
{
	thrum_task source = atomic_load(&cover.source), loop = atomic_load(&cover.loop), told;
	char label[2 * PLACE_MAX];

	if (!source || !is_covering())
		return THRUM_TASK_NONE;
	if (atomic_load(&cover.told))
		return atomic_load(&cover.told);
	thrum__adapt_label(label, "source for the main loop of", atomic_load(&cover.caller));
	thrum__adapt_label(label + strlen(label), ", while one waits for that of",
		thrum__adapt_glib_outermost());
	told = thrum__adapt_missing(label, atomic_load(&cover.caller));
	thrum_task_wait(loop, told);
	thrum_task_wait(source, loop);
	atomic_store(&cover.told, told);
	return told;
}

bool thrum__adapt_glib_look_covered(const struct looking *looking)
{
	return is_covering() && (atomic_load(&cover.told) || is_in_vain(looking)) &&
		thrum__adapt_glib_tell_covered();
}
