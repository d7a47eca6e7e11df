/* SPDX-License-Identifier: ISC */
/*
 * Timers of a library's loop that come again and again. If such a timer is stopped before it comes, and the
 * loop then waits for ever, since all threads of the process wait for each other, the stop may have been
 * meant for another timer. It has to be in the loop's last turn: a timer that was stopped earlier is no
 * longer needed, as far as is known. A call that starts a timer again, but can't as no interval is set, does
 * nothing: that is told whenever it was.
 */
#include <string.h>

#include "adapt/look/look.h"

#define TIMERS 32u /* of several with one place, the latest is known */
#define HABIT 3    /* so often a timer came before */

static struct timer {
	const void *_Atomic timer; /* NULL: it is free */
	const void *_Atomic callback;
	const void *_Atomic stopper; /* NULL: it may come */
	_Atomic uint32_t came;
	_Atomic bool is_vain;          /* the stopper was to start it again */
	struct thread *_Atomic thread; /* that stopped it, */
	_Atomic uint32_t turn;         /* in this turn of its loop */
} timers[TIMERS];

static struct timer *place_of(const void *timer)
{
	return &timers[((uintptr_t)timer >> 4 ^ (uintptr_t)timer >> 9) % TIMERS];
}

static struct timer *find(const void *timer)
{
	struct timer *one = place_of(timer);

	return atomic_load_explicit(&one->timer, memory_order_relaxed) == timer ? one : NULL;
}

void thrum__adapt_loop_timer_came(const void *timer, const void *callback)
{
	struct timer *one = place_of(timer);

	if (!find(timer)) {
		atomic_store(&one->came, 0);
		atomic_store(&one->stopper, NULL);
		atomic_store(&one->timer, timer);
	}
	atomic_store_explicit(&one->callback, callback, memory_order_relaxed);
	atomic_fetch_add_explicit(&one->came, 1, memory_order_relaxed);
}

void thrum__adapt_loop_timer_started(const void *timer)
{
	struct timer *one = find(timer);

	if (one)
		atomic_store(&one->stopper, NULL);
}

void thrum__adapt_loop_timer_stopped(const void *timer, const void *caller)
{
	struct timer *one = find(timer);

	/* A timer that stops itself is done. */
	if (!one || atomic_load(&one->came) < HABIT ||
		atomic_load(&one->callback) == thrum__adapt_callback)
		return;
	atomic_store(&one->thread, thrum__adapt_self);
	atomic_store(&one->turn, thrum__adapt_loops_of(thrum__adapt_self));
	atomic_store(&one->is_vain, false);
	atomic_store(&one->stopper, caller);
}

void thrum__adapt_loop_timer_vain(const void *timer, const void *caller)
{
	struct timer *one = find(timer);

	if (!one)
		return;
	atomic_store(&one->thread, thrum__adapt_self);
	atomic_store(&one->is_vain, true);
	atomic_store(&one->stopper, caller);
}

void thrum__adapt_loop_timer_gone(const void *timer)
{
	struct timer *one = find(timer);

	if (one)
		atomic_store(&one->timer, NULL);
}

/* Whether it was stopped in the turn before this wait, or started in vain. */
static bool is_of_last_turn(const struct timer *one)
{
	return atomic_load(&one->timer) && atomic_load(&one->stopper) && thrum__adapt_self &&
		atomic_load(&one->thread) == thrum__adapt_self &&
		(atomic_load(&one->is_vain) ||
			thrum__adapt_loops_of(thrum__adapt_self) - atomic_load(&one->turn) <= 1);
}

thrum_task thrum__adapt_timers_tell(void)
{
	char label[2 * PLACE_MAX + 60];
	const struct timer *found = NULL;

	for (unsigned i = 0; i < TIMERS; i++)
		if (is_of_last_turn(&timers[i])) {
			if (found)
				return THRUM_TASK_NONE; /* not known which */
			found = &timers[i];
		}
	if (!found)
		return THRUM_TASK_NONE;
	thrum__adapt_label(label, "timer", atomic_load(&found->callback));
	thrum__adapt_label(label + strlen(label),
		atomic_load(&found->is_vain) ? ", without a repeat when started again in"
					     : ", stopped before it came by",
		atomic_load(&found->stopper));
	return thrum__adapt_missing(label, atomic_load(&found->stopper));
}
