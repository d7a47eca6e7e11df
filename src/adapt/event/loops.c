/* SPDX-License-Identifier: ISC */
/*
 * Loops of libevent that a break didn't end: it came before the loop began, which forgets it, or from a
 * thread that doesn't wake the loop, as libevent wasn't told of threads. Nor does an event wake the loop then
 * that another thread made active. And loops that returned: an event that is added then waits for a task
 * that ends once the loop runs again.
 */
#define _GNU_SOURCE
#include "adapt/event/event.h"
#include "adapt/look/look.h"
#include "port/port.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

#define BREAKS 16u              /* of several loops with one place, the latest is known */
#define LEFT 16u                /* further loops that returned are not known */
#define LONG INT64_C(500000000) /* ns for which an event is active, and its loop waits */
#define SOUGHT 25000000         /* ns until threads are sought again */

REAL(event_base_loop)
REAL(event_base_dispatch)
REAL(event_base_loopbreak)
REAL(event_base_free)
REAL(event_pending)
REAL(evthread_set_lock_callbacks)

/* The loop that the calling thread runs, and the places at which it was run, and broken before. */
static __thread struct run {
	struct event_base *base;
	const void *runner, *breaker;
} thread __attribute__((tls_model("initial-exec")));

/* The latest break of a loop since its last run began or ended. */
static struct broken {
	struct event_base *_Atomic base;
	const void *_Atomic caller;
} broken[BREAKS];

static struct broken *broken_of(const struct event_base *base)
{
	return &broken[((uintptr_t)base >> 4 ^ (uintptr_t)base >> 10) % BREAKS];
}

static const void *breaker_of(const struct event_base *base)
{
	const struct broken *one = broken_of(base);
	const void *caller = atomic_load(&one->caller);

	return atomic_load(&one->base) == base ? caller : NULL;
}

/* ---- Events that another thread made active --------------------------------------------------- */

/* The latest one, by loop. */
static struct active {
	struct event_base *_Atomic base;
	struct event *_Atomic event; /* NULL: it has run, or is no more */
	const void *_Atomic caller;
	_Atomic short what;
	_Atomic int64_t at;
	_Atomic uint64_t task; /* that was told, or NONE */
} actives[BREAKS];
static _Atomic bool has_actives;   /* there ever was one */
static _Atomic bool knows_threads; /* libevent wakes its loops itself */

static struct active *active_of(const struct event_base *base)
{
	return &actives[((uintptr_t)base >> 4 ^ (uintptr_t)base >> 10) % BREAKS];
}

/* The thread waits in its loop, which nobody woke as libevent wasn't told of threads. */
static void look_for_active(void)
{
	struct active *one = active_of(thread.base);
	struct event *event = atomic_load(&one->event);
	char label[2 * PLACE_MAX + 60];

	if (!thread.base || !event || atomic_load(&one->base) != thread.base ||
		atomic_load(&one->task) || rough_time() - atomic_load(&one->at) < LONG ||
		!real_event_pending(NULL)(event, atomic_load(&one->what), NULL))
		return;
	thrum__adapt_label(label, "event for the loop of", thread.runner);
	thrum__adapt_label(label + strlen(label), ", which wasn't woken by the event_active in",
		atomic_load(&one->caller));
	atomic_store(&one->task,
		thrum__adapt_look_tell(label, atomic_load(&one->caller), thrum_task_current()));
}

STAND_IN int evthread_set_lock_callbacks(const struct evthread_lock_callbacks *callbacks)
{
	atomic_store(&knows_threads, true);
	return real_evthread_set_lock_callbacks(CALLER)(callbacks);
}

void thrum__adapt_event_activates(struct event *event, int what, const void *caller)
{
	struct event_base *base = event->ev_base;
	struct active *one = active_of(base);

	if (thread.base == base || atomic_load(&knows_threads))
		return;
	atomic_store_explicit(&has_actives, true, memory_order_relaxed);
	atomic_store(&one->event, NULL);
	resolve_told(&one->task);
	atomic_store(&one->base, base);
	atomic_store(&one->what, (short)what);
	atomic_store(&one->caller, caller);
	atomic_store(&one->at, rough_time());
	atomic_store(&one->event, event);
}

void thrum__adapt_event_ran(const struct event *event)
{
	/* A copy of an event may have run, and the event be no more: it isn't looked at. */
	for (unsigned i = 0; i < BREAKS && atomic_load_explicit(&has_actives, memory_order_relaxed);
		i++)
		if (atomic_load(&actives[i].event) == event) {
			atomic_store(&actives[i].event, NULL);
			resolve_told(&actives[i].task);
		}
}

/* A loop is freed: its events are no more, as far as is known. */
static void forget_active(const struct event_base *base)
{
	struct active *one = active_of(base);

	if (atomic_load(&one->base) != base)
		return;
	atomic_store(&one->event, NULL);
	resolve_told(&one->task);
}

/* ---- Loops that were broken, or have returned -------------------------------------------------- */

/* Loops that have returned, and that nobody runs. */
static struct left {
	struct event_base *_Atomic base; /* NULL: it is free */
	const void *_Atomic runner;      /* who ran it last */
	_Atomic uint64_t unrun;          /* the task for which its events wait, or NONE */
} left[LEFT];
static _Atomic int left_count;

static struct left *left_of(const struct event_base *base)
{
	for (unsigned i = 0; i < LEFT && atomic_load_explicit(&left_count, memory_order_relaxed);
		i++)
		if (atomic_load(&left[i].base) == base)
			return &left[i];
	return NULL;
}

static void leave(struct event_base *base, const void *runner)
{
	for (unsigned i = 0; i < LEFT; i++) {
		struct event_base *none = NULL;

		if (!atomic_compare_exchange_strong(&left[i].base, &none, base))
			continue;
		atomic_store(&left[i].runner, runner);
		atomic_fetch_add(&left_count, 1);
		return;
	}
}

/* It runs again, or is no more. */
static void come_back(const struct event_base *base)
{
	struct left *one = left_of(base);

	if (!one)
		return;
	resolve_told(&one->unrun);
	atomic_store(&one->runner, NULL);
	atomic_store(&one->base, NULL);
	atomic_fetch_sub(&left_count, 1);
}

void thrum__adapt_event_added(thrum_task event, const struct event_base *base)
{
	struct left *one = base ? left_of(base) : NULL;
	const void *runner = one ? atomic_load(&one->runner) : NULL;

	if (runner)
		thrum__adapt_wait_for_run(event, &one->unrun,
			"run of a loop, as its dispatch has returned in", runner, runner);
}

static void forget(struct event_base *base)
{
	/* Another one may be noted at its place. */
	struct event_base *known = base;

	atomic_compare_exchange_strong(&broken_of(base)->base, &known, NULL);
}

/* The thread waits in its loop, and nothing can come. */
static thrum_task tell(void)
{
	const void *breaker = breaker_of(thread.base);
	char label[2 * PLACE_MAX + 60];

	if (!breaker && !thread.breaker)
		return thrum__adapt_timers_tell();
	thrum__adapt_label(label, "event for the loop of", thread.runner);
	if (breaker)
		thrum__adapt_label(label + strlen(label), ", which wasn't woken by the break in",
			breaker);
	else
		thrum__adapt_label(label + strlen(label), ", broken before it ran by",
			thread.breaker);
	return thrum__adapt_missing(label, thread.runner);
}

/* Whether the process has or had several threads. A program may run its loop for each turn, so this asks now
 * and then only. Keeps errno. */
static bool has_threads(void)
{
	static _Atomic bool has_several;
	static _Atomic int64_t sought;
	int64_t now = rough_time();
	int error = errno;

	if (!is_limited() && !atomic_load(&has_several) && now - atomic_load(&sought) >= SOUGHT) {
		atomic_store(&has_several, !thrum__adapt_process_is_single(own_pid()));
		atomic_store(&sought, now);
	}
	errno = error;
	return atomic_load(&has_several);
}

static struct run begin_loop(struct event_base *base, const void *caller)
{
	struct run outer = thread;

	/* Another thread may make events active while the loop waits. */
	if (!atomic_load(&knows_threads) && has_threads())
		thrum__adapt_looks_active = look_for_active;
	thread = (struct run){base, caller, breaker_of(base)};
	forget(base);
	come_back(base);
	thrum__adapt_broken_tells = tell;
	return outer;
}

/* is_whole: it was run until it has no events, or is broken. */
static void end_loop(const struct run *outer, bool is_whole)
{
	forget(thread.base);
	if (is_whole)
		leave(thread.base, thread.runner);
	thread = *outer;
	thrum__adapt_broken_tells = thread.base ? tell : NULL;
	thrum__adapt_looks_active = NULL;
}

#define LOOP(name, is_whole, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		struct run outer; \
\
		if (!is_chosen(ADAPTER_EVENT) || thread.base == base) \
			return real_##name(CALLER) arguments; \
		outer = begin_loop(base, CALLER); \
		int result = real_##name(CALLER) arguments; \
\
		end_loop(&outer, is_whole); \
		return result; \
	}
LOOP(event_base_loop, !(flags & (EVLOOP_ONCE | EVLOOP_NONBLOCK)),
	(struct event_base * base, int flags), (base, flags))
LOOP(event_base_dispatch, true, (struct event_base * base), (base))

STAND_IN int event_base_loopbreak(struct event_base *base)
{
	struct broken *one = broken_of(base);

	if (base && is_chosen(ADAPTER_EVENT)) {
		atomic_store(&one->base, NULL);
		atomic_store(&one->caller, CHAIN);
		atomic_store(&one->base, base);
	}
	return real_event_base_loopbreak(CALLER)(base);
}

STAND_IN void event_base_free(struct event_base *base)
{
	forget(base);
	come_back(base);
	forget_active(base);
	real_event_base_free(CALLER)(base);
}
