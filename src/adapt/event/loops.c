/* SPDX-License-Identifier: ISC */
/*
 * Loops of libevent that a break didn't end: it came before the loop began, which forgets it, or from a
 * thread that doesn't wake the loop, as libevent wasn't told of threads.
 */
#define _GNU_SOURCE
#include "adapt/event/event.h"
#include "adapt/look/look.h"
#include "port/port.h"

#define BREAKS 16u /* of several loops with one place, the latest is known */

REAL(event_base_loop)
REAL(event_base_dispatch)
REAL(event_base_loopbreak)
REAL(event_base_free)

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
		return THRUM_TASK_NONE;
	thrum__adapt_label(label, "event for the loop of", thread.runner);
	if (breaker)
		thrum__adapt_label(label + strlen(label), ", which wasn't woken by the break in",
			breaker);
	else
		thrum__adapt_label(label + strlen(label), ", broken before it ran by",
			thread.breaker);
	return thrum__adapt_missing(label, thread.runner);
}

static struct run begin_loop(struct event_base *base, const void *caller)
{
	struct run outer = thread;

	thread = (struct run){base, caller, breaker_of(base)};
	forget(base);
	thrum__adapt_broken_tells = tell;
	return outer;
}

static void end_loop(const struct run *outer)
{
	forget(thread.base);
	thread = *outer;
	thrum__adapt_broken_tells = thread.base ? tell : NULL;
}

#define LOOP(name, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		struct run outer; \
\
		if (!is_chosen(ADAPTER_EVENT) || thread.base == base) \
			return real_##name(CALLER) arguments; \
		outer = begin_loop(base, CALLER); \
		int result = real_##name(CALLER) arguments; \
\
		end_loop(&outer); \
		return result; \
	}
LOOP(event_base_loop, (struct event_base * base, int flags), (base, flags))
LOOP(event_base_dispatch, (struct event_base * base), (base))

STAND_IN int event_base_loopbreak(struct event_base *base)
{
	struct broken *one = broken_of(base);

	if (base && is_chosen(ADAPTER_EVENT)) {
		atomic_store(&one->base, NULL);
		atomic_store(&one->caller, CALLER);
		atomic_store(&one->base, base);
	}
	return real_event_base_loopbreak(CALLER)(base);
}

STAND_IN void event_base_free(struct event_base *base)
{
	forget(base);
	real_event_base_free(CALLER)(base);
}
