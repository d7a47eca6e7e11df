/* SPDX-License-Identifier: ISC */
/* Conditions, semaphores and barriers. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "adapt/ends/ends.h"
#include "adapt/ipc/ipc.h"
#include "adapt/look/look.h"
#include "adapt/pthread/pthread.h"

/* ThreadSanitizer's have no version. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define VERSION "GLIBC_2.3.2"
#else
#define VERSION NULL
#endif

#define WAIT(name, version, parameters, arguments, clock, until) REAL_VERSION(name, version)
#define SIGNAL(name, version, parameters, arguments) REAL_VERSION(name, version)
#define DOWN(name, parameters, arguments, valid) REAL(name)
#define UP(name, parameters, arguments) REAL(name)
#define END(name, version, parameters, arguments) REAL_VERSION(name, version)
#include "adapt/pthread/conditions.def"
#undef WAIT
#undef SIGNAL
#undef DOWN
#undef UP
#undef END
REAL(pthread_condattr_setpshared)
REAL(sem_init)
REAL(sem_trywait)
REAL(pthread_barrier_init)
REAL(pthread_barrier_wait)

/* ---- Conditions ---------------------------------------------------------------------------- */

/* In glibc's word of a condition: several processes share it; the clock by which its waits end. */
#define IS_SHARED 1u
#define IS_MONOTONIC 2u
#define WAITERS_SHIFT 3
#define SECONDS_A_DAY 86400
#define SOON SECONDS_A_DAY                      /* a usual time limit ends before this */
#define ENDLESS (INT64_C(3650) * SECONDS_A_DAY) /* a time limit that is none */

static _Atomic bool shares_conditions;

/* A wait for a condition, which may end by the thread's cancellation. */
struct condition_wait {
	struct wait wait;
	const void *lock;
};

static void end_condition_wait(struct condition_wait *c)
{
	thrum__adapt_wait_end(&c->wait);
	/* The thread has the lock again. */
	take_lock(c->lock, c->wait.caller);
}

/* Each thread that takes a lock from now on says so: it may be to signal the condition for which its
 * present holder waits. Returns false if the lock is unknown. */
static bool watch_takers(const void *lock, const void *caller, bool was_signalled)
{
	struct thread *self = thrum__adapt_thread();
	struct object *object = self && thrum__adapt_thread_holds(self, lock)
		? thrum__adapt_object_make(lock, THRUM_KIND_LOCK, "mutex", caller)
		: NULL;

	if (!object)
		return false;
	if (!was_signalled)
		atomic_store(&object->arrived, 0);
	atomic_fetch_add(watch_of(lock), 1);
	/* Its release, just before the wait, tells whose lock it is. */
	if (!thrum__adapt_is_known_well(object, caller))
		thrum__adapt_tell_holders(object, lock, atomic_load(&self->tid), NULL);
	return true;
}

/* Whether this C library keeps what it knows of a condition where this file reads it. */
static bool is_layout_known(void)
{
	static _Atomic int known; /* 1: yes; -1: no */
	pthread_cond_t conditions[3];
	pthread_condattr_t attributes;
	int now = atomic_load(&known);

	if (now == 0 && pthread_condattr_init(&attributes) == 0) {
		now = -1;
		if (pthread_cond_init(&conditions[0], &attributes) == 0 &&
			pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
			pthread_cond_init(&conditions[1], &attributes) == 0 &&
			real_pthread_condattr_setpshared(
				NULL)(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
			pthread_cond_init(&conditions[2], &attributes) == 0 &&
			conditions[0].__data.__wrefs == 0 &&
			conditions[1].__data.__wrefs == IS_MONOTONIC &&
			conditions[2].__data.__wrefs == (IS_MONOTONIC | IS_SHARED))
			now = 1;
		pthread_condattr_destroy(&attributes);
		atomic_store(&known, now);
	}
	return now > 0;
}

/* The clock by which a condition's waits end; -1: not known. */
static clockid_t clock_of(const pthread_cond_t *condition)
{
	if (!is_layout_known())
		return -1;
	return __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) & IS_MONOTONIC
		? CLOCK_MONOTONIC
		: CLOCK_REALTIME;
}

/* Whether several processes share a condition. */
static bool is_shared(const pthread_cond_t *condition)
{
	return is_layout_known() &&
		__atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) & IS_SHARED;
}

/* A program with a single thread may wait for a condition that several processes share, or signal it: its
 * recording begins here. */
static void start_if_shared(const pthread_cond_t *condition)
{
	if (!THRUM__ON(THRUM__BIT_STARTED) && is_chosen(ADAPTER_PTHREAD) && is_shared(condition))
		thrum__adapt_start();
}

/* Whether a wait for a condition is recorded. */
static bool records_condition(const pthread_cond_t *condition)
{
	start_if_shared(condition);
	return records_wait(ADAPTER_PTHREAD);
}

/* One that only relatives share is named as all of them name it: a trace that joins them takes it for one.
 * Keeps errno. */
static struct object *object_of(const void *condition, const void *caller)
{
	struct object *object = thrum__adapt_object((uintptr_t)condition);
	char label[IPC_MEMORY + 16] = "condition ";
	int error = errno;

	if (!object && is_shared(condition) &&
		thrum__adapt_ipc_put_address(strchr(label, '\0'), condition))
		object = thrum__adapt_object_named(condition, THRUM_KIND_CONDITION, label, caller);
	errno = error;
	return object
		? object
		: thrum__adapt_object_make(condition, THRUM_KIND_CONDITION, "condition", caller);
}

/* How many threads of any process wait for a shared condition. */
static uint32_t waiters_of(const pthread_cond_t *condition)
{
	return __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) >> WAITERS_SHIFT;
}

bool thrum__adapt_shares_conditions(void)
{
	return UNLIKELY(atomic_load_explicit(&shares_conditions, memory_order_relaxed));
}

/* A child by fork then records from its beginning, as it may be to signal. */
STAND_IN int pthread_condattr_setpshared(pthread_condattr_t *attributes, int shared)
{
	if (shared == PTHREAD_PROCESS_SHARED)
		atomic_store(&shares_conditions, true);
	return real_pthread_condattr_setpshared(CALLER)(attributes, shared);
}

/* The seconds until a time of a clock; 0 if it is none. */
static int64_t seconds_until(clockid_t clock, const struct timespec *until)
{
	struct timespec now;

	return clock_gettime(clock, &now) == 0 ? (int64_t)until->tv_sec - now.tv_sec : 0;
}

/* Tells if the time was meant for the other clock, so that the wait ends decades too late. */
static void tell_clock(struct wait *wait, int64_t left, const struct timespec *until)
{
	char label[96];
	int64_t meant = seconds_until(CLOCK_REALTIME, until);
	thrum_task task;

	if (wait->pause.is_over || wait->pause.is_untold || meant < -SOON || meant > SOON)
		return;
	strcpy(thrum__adapt_put_number(stpcpy(label, "time-out of another clock, "),
		       (uint64_t)left / SECONDS_A_DAY),
		" days too late");
	task = thrum__adapt_ends_missing(wait, label, wait->caller);
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__wait_at(thrum__adapt_event_site(wait->caller), wait->task, task);
}

static void begin_condition_wait(struct condition_wait *c, const void *condition, const void *lock,
	const void *caller, clockid_t clock, const struct timespec *until)
{
	if (UNLIKELY(thrum__adapt_returning.task) && thrum__adapt_speaks()) {
		c->lock = lock;
		drop_lock(lock, "mutex");
		thrum__adapt_wait_return(&c->wait);
		return;
	}
	int64_t left = until && clock >= 0 ? seconds_until(clock, until) : 0;
	bool is_timed = until && left < ENDLESS;
	struct object *object = object_of(condition, caller);
	bool is_watched = object && !is_timed && thrum__adapt_speaks() &&
		watch_takers(lock, caller, atomic_load(&object->arrived) > 0);
	bool shares = is_shared(condition);

	c->lock = lock;
	drop_lock(lock, "mutex");
	if (object)
		atomic_store(&object->count, 0);
	if ((shares || thrum__adapt_calls_back()) && !is_timed)
		thrum__adapt_wait_with_others(&c->wait, object, is_watched ? lock : condition,
			caller);
	else
		thrum__adapt_wait_begin(&c->wait, object, is_watched ? lock : condition, caller,
			is_timed);
	c->wait.is_watched = is_watched;
	if (until && !is_timed)
		tell_clock(&c->wait, left, until);
	if (!until && shares)
		thrum__adapt_condition_look(&c->wait, condition, lock);
}

/* Records a signal for an object. Beside a program that reports itself it is the thread's: the running task
 * may end at once, and others go on to signal. */
static void signal_object(struct object *object, uint32_t waiters, const void *caller)
{
	thrum_task signaller = thrum__adapt_actor(), before = thrum_task_current();

	if (before != signaller)
		thrum_task_switch(signaller);
	thrum__adapt_signal(object, waiters, caller);
	if (before != signaller)
		thrum_task_switch(before);
}

/* Whether a condition is signalled by a task that did not yet, as far as that is noted: tasks share bits. */
static bool is_new_voice(struct object *object)
{
	uint32_t bit = 1u << ((uint32_t)thrum__adapt_actor() * UINT32_C(0x9e3779b9) >> 27);

	return !(atomic_load_explicit(&object->voices, memory_order_relaxed) & bit) &&
		!(atomic_fetch_or(&object->voices, bit) & bit);
}

/* Ever fewer signals that nobody hears are recorded, but at least one of each task: so all are known that
 * ever signalled. */
void thrum__adapt_tell_signal_of(struct object *object, uint32_t waiters, const void *caller)
{
	uint32_t unheard = waiters ? 0 : atomic_fetch_add(&object->count, 1);

	if (is_new_voice(object) || waiters || (unheard & (unheard - 1)) == 0)
		signal_object(object, waiters, caller);
}

void thrum__adapt_tell_signal(const void *condition, const void *caller)
{
	struct object *object = object_of(condition, caller);

	if (UNLIKELY(thrum__adapt_has_timers()))
		thrum__adapt_rearm_signalled(condition);
	if (!object)
		return;
	atomic_store_explicit(&object->arrived, 1, memory_order_relaxed);
	uint32_t waiters = is_shared(condition) ? waiters_of(condition)
						: atomic_load(&object->waiters);
	thrum__adapt_tell_signal_of(object, waiters, caller);
}

/* ---- Semaphores ---------------------------------------------------------------------------- */

static int value_of(const void *semaphore)
{
	int value;

	return sem_getvalue((sem_t *)(uintptr_t)semaphore, &value) == 0 ? value : -1;
}

static void put_semaphore(char *to, const void *semaphore)
{
	thrum__adapt_label(to, "shared semaphore", semaphore);
}

static const struct share_kind in_memory = {value_of, put_semaphore, 0};

static void take(const void *semaphore, const void *caller)
{
	take_permit(semaphore, caller);
	share_takes(semaphore, caller);
}

/* A thread took a permit before the recording starts. */
static void take_early(const void *semaphore, const void *caller)
{
	if (is_chosen(ADAPTER_PTHREAD) && !THRUM__ON(THRUM__BIT_STARTED))
		take_permit(semaphore, caller);
}

/* Also before the recording starts. */
STAND_IN int sem_init(sem_t *semaphore, int is_shared, unsigned value)
{
	int result = real_sem_init(CALLER)(semaphore, is_shared, value);

	if (result == 0 && is_chosen(ADAPTER_PTHREAD)) {
		if (is_shared)
			thrum__adapt_semaphore_end(semaphore);
		else
			thrum__adapt_semaphore_begin(semaphore, value);
		if (is_shared)
			thrum__adapt_share_begins(semaphore, value, &in_memory);
		else if (has_shares())
			thrum__adapt_share_ends(semaphore);
		thrum__adapt_posts_begin(semaphore, is_shared ? 0 : value);
	}
	return result;
}

STAND_IN int sem_trywait(sem_t *semaphore)
{
	int result = real_sem_trywait(CALLER)(semaphore);

	if (result == 0 && is_chosen(ADAPTER_PTHREAD))
		take(semaphore, CHAIN);
	return result;
}

/* Whether a program with a single thread may begin to record as it waits for a semaphore: others may share
 * it. */
static bool may_start(const void *semaphore)
{
	return is_chosen(ADAPTER_PTHREAD) && !THRUM__ON(THRUM__BIT_STARTED) && !is_own(semaphore);
}

/* Whether the running task is another one than the one that posted such a semaphore last. */
static bool is_new_poster(const void *semaphore)
{
	_Atomic uint32_t *last =
		&thrum__adapt_posters[semaphore_of(semaphore) - thrum__adapt_semaphores];
	uint32_t poster = (uint32_t)thrum__adapt_actor() ^ thrum__recording() << 24;

	if (atomic_load_explicit(last, memory_order_relaxed) == poster)
		return false;
	atomic_store_explicit(last, poster, memory_order_relaxed);
	return true;
}

/* Whether a signal's handler posts: it interrupted the thread's own code, which may not post at all. Keeps
 * errno. A thread that posted before does so on its own. */
static bool is_handler(const void *semaphore)
{
	return (is_own(semaphore) || is_watched(semaphore)) && !has_permits(semaphore) &&
		atomic_load_explicit(&thrum__adapt_posters[semaphore_of(semaphore) -
					     thrum__adapt_semaphores],
			memory_order_relaxed) == 0 &&
		thrum__adapt_is_in_handler();
}

/* Records a post by a thread's own code if another waits. If the semaphore counts events, each post of
 * another task than the one before is recorded, too, so that all are known that ever posted. */
static void tell_post(const void *semaphore, const void *caller)
{
	/* If the thread waits, this is a signal's handler, too. It may post again at any time. */
	if (UNLIKELY(thrum__adapt_is_paused()) || is_handler(semaphore)) {
		thrum__adapt_permits_forget(semaphore);
		return;
	}
	give_permit(semaphore);
	thrum__adapt_posts_note(semaphore, address_of_caller(caller));
	bool is_new = is_own(semaphore) && !has_permits(semaphore) && is_new_poster(semaphore);

	if (!is_new && !is_watched(semaphore))
		return;
	struct object *object = is_new
		? thrum__adapt_object_make(semaphore, THRUM_KIND_SEMAPHORE, "semaphore", caller)
		: thrum__adapt_object((uintptr_t)semaphore);
	uint32_t waiters = object ? atomic_load(&object->waiters) : 0;

	if (waiters || (is_new && object))
		signal_object(object, waiters, caller);
}

/* ---- Barriers ------------------------------------------------------------------------------ */

STAND_IN int pthread_barrier_init(pthread_barrier_t *restrict barrier,
	const pthread_barrierattr_t *restrict attributes, unsigned count)
{
	int result = real_pthread_barrier_init(CALLER)(barrier, attributes, count);

	if (result == 0 && is_chosen(ADAPTER_PTHREAD)) {
		struct object *object;

		/* Mostly its threads are not made yet; but only here it tells how many there will be. */
		thrum__adapt_start();
		object = thrum__adapt_object_make(barrier, THRUM_KIND_CONDITION, "barrier", CALLER);

		if (object)
			atomic_store(&object->count, count);
	}
	return result;
}

STAND_IN int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	const void *caller = CALLER;
	struct wait wait = {.pause.is_over = true};

	/* Beside a program that reports itself, some of those who come would be unknown. */
	if (!records_wait(ADAPTER_PTHREAD) || thrum__adapt_is_beside)
		return real_pthread_barrier_wait(caller)(barrier);
	struct object *object = thrum__adapt_object_make(barrier, THRUM_KIND_CONDITION, "barrier",
		caller);
	uint32_t count = object ? atomic_load(&object->count) : 0;

	/* The last thread to come doesn't wait. */
	if (count && (atomic_fetch_add(&object->arrived, 1) + 1) % count == 0)
		thrum__adapt_signal(object, atomic_load(&object->waiters), caller);
	else
		thrum__adapt_wait_begin(&wait, object, barrier, caller, false);
	int result = real_pthread_barrier_wait(caller)(barrier);

	thrum__adapt_wait_end(&wait);
	return result;
}

/* ---- The stand-ins of the table ------------------------------------------------------------- */

#define WAIT(name, version, parameters, arguments, clock, until) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (!records_condition((const void *)condition)) \
			return real_##name(caller) arguments; \
		caller = CHAIN; \
		struct condition_wait wait __attribute__((cleanup(end_condition_wait))); \
\
		begin_condition_wait(&wait, condition, lock, caller, clock, until); \
		return real_##name(caller) arguments; \
	}
#define SIGNAL(name, version, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		if (UNLIKELY(!is_on(ADAPTER_PTHREAD))) \
			start_if_shared((const void *)condition); \
		if (is_on(ADAPTER_PTHREAD)) \
			thrum__adapt_tell_signal(condition, CHAIN); \
		return real_##name(CALLER) arguments; \
	}
#define DOWN(name, parameters, arguments, valid) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
		int error = errno; \
\
		if (!(valid) || !(may_record(ADAPTER_PTHREAD) || may_start(semaphore))) { \
			int taken = real_##name(caller) arguments; \
\
			if (taken == 0) \
				take_early(semaphore, caller); \
			return taken; \
		} \
		/* As the real one does, also if it need not wait. */ \
		pthread_testcancel(); \
		if (real_sem_trywait(caller)(semaphore) == 0) { \
			caller = CHAIN; \
			take(semaphore, caller); \
			return 0; \
		} \
		errno = error; \
		share_doubts(semaphore); \
		int result; \
\
		if (!may_record(ADAPTER_PTHREAD) && !IS_TIMED(name) && \
			!thrum__adapt_down_lasts(semaphore, caller, &result)) { \
			if (result == 0) \
				share_takes(semaphore, caller); \
			return result; \
		} \
		if (!records_wait(ADAPTER_PTHREAD)) { \
			result = real_##name(caller) arguments; \
			if (result == 0) \
				share_takes(semaphore, caller); \
			return result; \
		} \
		caller = CHAIN; \
		struct wait wait __attribute__((cleanup(thrum__adapt_wait_end))); \
\
		thrum__adapt_wait_semaphore(&wait, semaphore, caller, IS_TIMED(name)); \
		result = IS_TIMED(name) ? 1 : thrum__adapt_down_shared(&wait, semaphore, caller); \
		if (result > 0 && !IS_TIMED(name)) \
			result = thrum__adapt_posts_wait(&wait, semaphore, caller); \
		if (result > 0) \
			result = real_##name(caller) arguments; \
		if (result == 0) \
			take(semaphore, caller); \
		return result; \
	}
#define UP(name, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		if (is_on(ADAPTER_PTHREAD)) \
			tell_post(semaphore, CHAIN); \
		else if (is_chosen(ADAPTER_PTHREAD) && !THRUM__ON(THRUM__BIT_STARTED)) \
			give_permit(semaphore); \
		if (is_chosen(ADAPTER_PTHREAD)) \
			share_gives(semaphore, CALLER); \
		return real_##name(CALLER) arguments; \
	}
#define END(name, version, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		thrum__adapt_semaphore_end(object); \
		if (has_shares()) \
			thrum__adapt_share_ends(object); \
		if (is_on(ADAPTER_PTHREAD)) \
			thrum__adapt_object_end(object); \
		return real_##name(CALLER) arguments; \
	}
#include "adapt/pthread/conditions.def"
