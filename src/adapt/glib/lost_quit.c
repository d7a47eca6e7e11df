/* SPDX-License-Identifier: ISC */
/*
 * Main loops that were quit before they ran, by the thread that runs them: GLib forgets that. Such a loop
 * runs for ever if its context has no source left, and no other thread knows the context. That is told only
 * of a place that ran loops before: each ended soon, as its own thread quit it.
 */
#define _GNU_SOURCE
#include <glib.h>

#include "adapt/glib/glib.h"

#define PLACES 64u         /* that run loops; of several with one number, the latest is known */
#define ENDS_MIN 2         /* so many loops of a place ended, */
#define LONGER 20          /* each in a part of the time that passed since, */
#define LASTING 1000000000 /* ns; but at least this long */

static struct place_of_runs {
	const void *_Atomic caller;
	_Atomic uint32_t ends;
	_Atomic bool is_foreign; /* other threads quit loops that ran there */
	_Atomic int64_t longest; /* ns */
} places[PLACES];

static struct place_of_runs *place_at(const void *caller)
{
	return &places[((uintptr_t)caller ^ (uintptr_t)caller >> 8) % PLACES];
}

void thrum__adapt_glib_run_ended(const void *caller, bool is_own, int64_t took)
{
	struct place_of_runs *place = place_at(caller);

	if (atomic_load(&place->caller) != caller) {
		atomic_store(&place->caller, caller);
		atomic_store(&place->ends, 0);
		atomic_store(&place->is_foreign, false);
		atomic_store(&place->longest, 0);
	}
	if (!is_own)
		atomic_store(&place->is_foreign, true);
	if (took > atomic_load(&place->longest))
		atomic_store(&place->longest, took);
	atomic_fetch_add(&place->ends, 1);
}

bool thrum__adapt_glib_lasts_too_long(const void *caller, int64_t since)
{
	const struct place_of_runs *place = place_at(caller);
	int64_t now = rough_time() - since;

	return atomic_load(&place->caller) == caller && atomic_load(&place->ends) >= ENDS_MIN &&
		!atomic_load(&place->is_foreign) && now >= LASTING &&
		now / LONGER > atomic_load(&place->longest);
}
