/* SPDX-License-Identifier: ISC */
/*
 * Waiting for objects: the running task waits, and its lane is suspended. A signal's handler may leave
 * a call by a jump, which runs no code of the call; so the jump ends all that the thread waits for.
 */
#define _GNU_SOURCE
/* It would give the four jumps that are defined below one name. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <setjmp.h>

#include "adapt/base/forked.h"
#include "port/port.h"

static struct thrum_tag blocked_for = THRUM__TAG(THRUM__REASON_BLOCKED_FOR_A_TIME);
/* Something outside of the program may end it at any time, so it is never a deadlock. */
struct thrum_tag thrum__adapt_outside = THRUM__TAG(THRUM__REASON_BLOCKED_OUTSIDE);

struct thrum_tag *thrum__adapt_handler_reason(void)
{
	static struct thrum_tag handler = THRUM__TAG(THRUM__REASON_HANDLER);

	return thrum__adapt_may_handle() ? &handler : &thrum__adapt_outside;
}

/* ---- Suspension ------------------------------------------------------------------------------ */

/* The calls in which the thread is, the latest one last: each that follows is a handler's, or of another
 * stack to which a handler has gone. A stack may be unmapped meanwhile, so nothing is read from it. */
#define PAUSES 8
struct told_wait {
	thrum_task task, source; /* 0: nothing is recorded of it */
	const void *caller;
};
static __thread struct {
	unsigned count;
	struct pause *all[PAUSES];
	struct told_wait waits[PAUSES];
} paused __attribute__((tls_model("initial-exec")));

void thrum__adapt_pause(struct pause *pause, struct thrum_tag *reason)
{
	*pause = (struct pause){.is_untold = !reason};
	if (paused.count < PAUSES) {
		paused.all[paused.count] = pause;
		paused.waits[paused.count++] = (struct told_wait){.caller = NULL};
	}
	if (reason)
		thrum_suspend(reason);
}

bool thrum__adapt_is_paused(void)
{
	return paused.count > 0;
}

/* Those that began later have been left, or belong to another stack. */
static void forget_pause(const struct pause *pause)
{
	for (unsigned i = paused.count; i > 0; i--)
		if (paused.all[i - 1] == pause) {
			paused.count = i - 1;
			return;
		}
}

void thrum__adapt_go_on(struct pause *pause)
{
	if (pause->is_over)
		return;
	pause->is_over = true;
	forget_pause(pause);
	if (!pause->is_untold)
		thrum_resume();
}

/* ---- The place --------------------------------------------------------------------------------- */

#define WAITINGS 16u /* a power of two */

/* By their numbers: threads that wait, and where; caller 0: one waits no more. A thread takes the place of
 * another one whose number falls together with its own. Other copies of the process read them there. */
static struct waiting {
	_Atomic uint32_t tid;
	_Atomic uintptr_t caller;
	_Atomic uintptr_t above; /* where its function was called, if that is small; or 0 */
} waiting[WAITINGS];

static void note_place(const void *caller)
{
	const struct thrum__site_chain *chain = thrum__adapt_chain_at(caller);
	uint32_t tid = own_tid();
	struct waiting *own = &waiting[tid % WAITINGS];

	atomic_store_explicit(&own->caller, 0, memory_order_relaxed);
	atomic_store_explicit(&own->tid, tid, memory_order_release);
	atomic_store_explicit(&own->above,
		chain && chain->site.line > 0 ? (uintptr_t)chain->above[0] : 0,
		memory_order_relaxed);
	atomic_store_explicit(&own->caller, (uintptr_t)address_of_caller(caller),
		memory_order_release);
}

static void leave_place(void)
{
	uint32_t tid = own_tid();
	struct waiting *own = &waiting[tid % WAITINGS];

	if (atomic_load_explicit(&own->tid, memory_order_relaxed) == tid)
		atomic_store_explicit(&own->caller, 0, memory_order_relaxed);
}

/* Whether two processes have the same code before an address, to which a call returns: so both name it
 * alike. */
static bool is_same_code(pid_t self, pid_t process, const void *place)
{
	char code[2][16];
	uintptr_t address = (uintptr_t)place;

	return thrum__adapt_process_is_copy(self, process) && address > sizeof *code &&
		thrum__adapt_process_copy(self, address - sizeof *code, code[0], sizeof *code) &&
		thrum__adapt_process_copy(process, address - sizeof *code, code[1], sizeof *code) &&
		memcmp(code[0], code[1], sizeof *code) == 0;
}

struct place thrum__adapt_waits_in(pid_t self, pid_t process, uint32_t tid)
{
	struct waiting theirs;
	uint64_t ran = thrum__adapt_process_ran(process, tid);

	tid = tid ? tid : (uint32_t)process;
	if (!ran ||
		!thrum__adapt_process_copy(process, (uintptr_t)&waiting[tid % WAITINGS], &theirs,
			sizeof theirs) ||
		theirs.tid != tid || !theirs.caller ||
		!is_same_code(self, process, (const void *)theirs.caller) ||
		thrum__adapt_process_ran(process, tid) != ran)
		return (struct place){NULL, NULL};
	return (struct place){(const void *)theirs.caller,
		theirs.above && is_same_code(self, process, (const void *)theirs.above)
			? (const void *)theirs.above
			: NULL};
}

/* ---- Waits ----------------------------------------------------------------------------------- */

/* The wait during which a signal's handler runs; NULL: none, or nothing is recorded of it. */
static const struct told_wait *interrupted(void)
{
	const struct told_wait *wait = paused.count > 0 ? &paused.waits[paused.count - 1] : NULL;

	return wait && wait->source ? wait : NULL;
}

static void pause_wait(struct wait *wait, struct thrum_tag *reason)
{
	thrum__adapt_pause(&wait->pause, reason);
	wait->pause.is_wait = true;
	if (reason && paused.all[paused.count - 1] == &wait->pause)
		paused.waits[paused.count - 1] = (struct told_wait){wait->task, wait->source,
			wait->caller};
}

static void record_wait(const void *caller, thrum_task task, thrum_task source)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__wait_at(thrum__adapt_event_site(caller), task, source);
}

/* A handler begins to wait: the wait that it interrupted can't end before. */
static void put_off(const struct told_wait *wait)
{
	if (UNLIKELY(wait != NULL))
		thrum_task_read(wait->task, wait->source);
}

/* The handler's wait is over. */
static void take_up(const struct told_wait *wait)
{
	if (UNLIKELY(wait != NULL))
		record_wait(wait->caller, wait->task, wait->source);
}

static void tell_wait(struct wait *wait, thrum_task source, struct thrum_tag *reason)
{
	/* Those who wait for it later want to know its task. */
	struct thread *self = thrum__adapt_thread();

	wait->task = thrum_task_current();
	wait->source = source;
	put_off(interrupted());
	note_place(wait->caller);
	hear_news(self);
	if (self)
		atomic_store_explicit(&self->waited, source, memory_order_relaxed);
	record_wait(wait->caller, wait->task, wait->source);
	pause_wait(wait, reason);
}

static void begin_wait(struct wait *wait, struct object *object, const void *address,
	const void *caller, struct thrum_tag *reason)
{
	*wait = (struct wait){.pause.is_over = true,
		.object = object,
		.address = address,
		.caller = caller};
	if (!object)
		return;

	bool speaks = thrum__adapt_speaks();

	if (speaks) {
		thrum__adapt_thread(); /* makes its task */
		atomic_store_explicit(&object->waiter, thrum_task_current(), memory_order_relaxed);
	}
	atomic_fetch_add(&object->waiters, 1);
	if (speaks)
		tell_wait(wait, atomic_load(&object->task), reason);
	else
		pause_wait(wait, NULL);
}

void thrum__adapt_wait_begin(struct wait *wait, struct object *object, const void *address,
	const void *caller, bool is_timed)
{
	begin_wait(wait, object, address, caller, is_timed ? &blocked_for : THRUM_BLOCKED);
}

void thrum__adapt_wait_with_others(struct wait *wait, struct object *object, const void *address,
	const void *caller)
{
	begin_wait(wait, object, address, caller,
		thrum__adapt_calls_back() ? thrum__adapt_handler_reason() : &thrum__adapt_outside);
}

void thrum__adapt_wait_pipe(struct wait *wait, struct object *object, const void *tokens,
	const void *caller, struct thrum_tag *reason)
{
	if (tokens) {
		/* As for a semaphore. */
		atomic_fetch_add(watch_of(tokens), 1);
		thrum__adapt_permits_tell(object, tokens);
	}
	begin_wait(wait, object, tokens, caller, reason);
	wait->is_watched = tokens != NULL;
}

void thrum__adapt_wait_make(struct wait *wait, enum thrum_kind kind, const char *label,
	const void *caller)
{
	thrum__adapt_thread(); /* those who wait for what it holds want to know its task */
	*wait = (struct wait){.pause.is_over = true,
		.caller = caller,
		.task = thrum_task_current(),
		.source = thrum__create(thrum__adapt_site(caller), (int)kind, label),
		.ends_source = true};
}

void thrum__adapt_wait_go(struct wait *wait, struct thrum_tag *reason)
{
	struct thread *self = thrum__adapt_thread();

	put_off(interrupted());
	note_place(wait->caller);
	if (wait->is_sleep)
		thrum__adapt_note_nap(self);
	else
		hear_news(self);
	if (self)
		atomic_store_explicit(&self->outside, wait->source, memory_order_relaxed);
	record_wait(wait->caller, wait->task, wait->source);
	pause_wait(wait, reason);
}

__thread struct returning thrum__adapt_returning __attribute__((tls_model("initial-exec")));

void thrum__adapt_wait_return(struct wait *wait)
{
	const struct returning *returning = &thrum__adapt_returning;
	char label[PLACE_MAX];
	int error = errno;

	thrum__adapt_label(label, "return of", returning->callback);
	thrum__adapt_wait_make(wait, THRUM_KIND_TASK, label, returning->caller);
	thrum_task_wait(wait->source, returning->task);
	thrum__adapt_wait_go(wait, THRUM_BLOCKED);
	errno = error;
}

void thrum__adapt_wait_outside(struct wait *wait, enum thrum_kind kind, const char *label,
	int64_t due, const void *caller)
{
	int error = errno;

	thrum__adapt_wait_make(wait, kind, label, caller);
	if (due >= 0)
		thrum_task_due(wait->source, due);
	wait->is_sleep = due >= 0;
	thrum__adapt_wait_go(wait, wait->is_sleep ? &blocked_for : &thrum__adapt_outside);
	errno = error;
}

void thrum__adapt_wait_again(struct wait *wait, bool is_inside)
{
	wait->is_inside = is_inside;
	if (wait->pause.is_untold)
		return;
	thrum__adapt_go_on(&wait->pause);
	tell_wait(wait, wait->source, is_inside ? THRUM_BLOCKED : &thrum__adapt_outside);
}

/* got: the task has what it waited for. */
static void end_wait(struct wait *wait, bool got)
{
	if (wait->pause.is_over)
		return;
	leave_place();
	thrum__adapt_go_on(&wait->pause);
	if (wait->object)
		atomic_fetch_sub(&wait->object->waiters, 1);
	if (wait->is_watched) {
		atomic_fetch_sub(watch_of(wait->address), 1);
		if (thrum__adapt_self)
			atomic_store(&thrum__adapt_self->awaits, 0);
	}
	if (wait->ends_source)
		thrum_task_resolve(wait->source);
	for (unsigned i = 0; i < wait->also_count; i++)
		thrum_task_resolve(wait->also[i]);
	if (wait->pause.is_untold)
		return;
	if (!got || !wait->is_lock)
		thrum_task_read(wait->task, wait->source);
	take_up(interrupted());
}

void thrum__adapt_wait_end(struct wait *wait)
{
	int error = errno;

	end_wait(wait, true);
	errno = error;
}

void thrum__adapt_wait_instead(struct wait *wait, thrum_task source, const void *caller)
{
	thrum__adapt_wait_end(wait);
	*wait = (struct wait){.pause.is_over = true,
		.caller = caller,
		.task = thrum_task_current(),
		.source = source,
		.ends_source = true};
	thrum__adapt_wait_go(wait, &thrum__adapt_outside);
}

/* If the calling thread waits for its own lock, as a handler interrupted it, the lock's name tells. */
static void name_handler(const struct object *object, const void *lock, uint32_t tid,
	const char *noun)
{
	char label[2 * PLACE_MAX + 40];
	const void *handler = NULL;
	int error = errno;

	if (tid ? tid == own_tid()
		: thrum__adapt_self && thrum__adapt_thread_holds(thrum__adapt_self, lock))
		handler = thrum__adapt_handler_around();
	if (handler) {
		thrum__adapt_label(label, noun, lock);
		thrum__adapt_label(strchr(label, '\0'), ", taken again in the handler", handler);
		thrum_task_label(atomic_load(&object->task), label);
	}
	errno = error;
}

#define ELSEWHERE UINT32_MAX /* the parent's thread */

void thrum__adapt_wait_lock(struct wait *wait, const void *lock, holder_tid *tid_of,
	const char *noun, const void *caller, bool is_timed)
{
	uint32_t tid = tid_of ? tid_of(lock) : 0;

	if (!records_wait(ADAPTER_PTHREAD) || !thrum__adapt_speaks()) {
		*wait = (struct wait){.pause.is_over = true, .address = lock, .caller = caller};
		return;
	}
	if (thrum__adapt_is_forker(tid) && thrum__adapt_is_shared(lock, noun))
		tid = ELSEWHERE;
	/* First, so that whoever takes the lock from now on says so. */
	atomic_fetch_add(watch_of(lock), 1);
	struct object *object = thrum__adapt_forked_lock(lock, noun, tid);

	if (!object) {
		object = thrum__adapt_object_make(lock, THRUM_KIND_LOCK, noun, caller);
		if (object) {
			/* Others that take it before this thread is known to wait say so, too. */
			atomic_store(&object->arrived, 0);
			thrum__adapt_tell_holders(object, lock, tid, tid_of);
			name_handler(object, lock, tid, noun);
		}
	}
	if (!object)
		atomic_fetch_sub(watch_of(lock), 1);
	if (tid == ELSEWHERE && !is_timed)
		thrum__adapt_wait_with_others(wait, object, lock, caller);
	else
		thrum__adapt_wait_begin(wait, object, lock, caller, is_timed);
	wait->is_lock = wait->is_watched = true;
}

/* Whether a signal's handler may be the one that posts a semaphore: no thread has done so yet. */
static bool may_handler_post(const void *semaphore)
{
	return !has_permits(semaphore) &&
		atomic_load_explicit(&thrum__adapt_posters[semaphore_of(semaphore) -
					     thrum__adapt_semaphores],
			memory_order_relaxed) == 0 &&
		thrum__adapt_may_handle();
}

/* Whether the first thread waits for a permit that it has itself, and gave none back so far: that may
 * last until a signal ends the call, and the thread does what the signal asks for. Interpreters wait so. */
static bool may_signal_end(const void *semaphore)
{
	uintptr_t known = atomic_load_explicit(semaphore_of(semaphore), memory_order_relaxed);

	return known == ((uintptr_t)semaphore | PERMITS_ONE) && gettid() == getpid() &&
		thrum__adapt_permit_has(semaphore) && thrum__adapt_heeds_signals();
}

void thrum__adapt_wait_semaphore(struct wait *wait, const void *semaphore, const void *caller,
	bool is_timed)
{
	if (!thrum__adapt_speaks()) {
		begin_wait(wait, thrum__adapt_object((uintptr_t)semaphore), semaphore, caller,
			NULL);
		return;
	}
	/* First, so that whoever takes a permit from now on says so. */
	atomic_fetch_add(watch_of(semaphore), 1);
	struct object *object = thrum__adapt_object_make(semaphore, THRUM_KIND_SEMAPHORE,
		is_own(semaphore) ? "semaphore" : "shared semaphore", caller);

	if (object)
		thrum__adapt_permits_tell(object, semaphore);
	else
		atomic_fetch_sub(watch_of(semaphore), 1);
	if (object && !is_timed)
		thrum__adapt_permits_circle(semaphore, caller);
	if (is_timed ||
		(is_own(semaphore) && !thrum__adapt_calls_back() && !may_handler_post(semaphore) &&
			!may_signal_end(semaphore)))
		thrum__adapt_wait_begin(wait, object, semaphore, caller, is_timed);
	else
		thrum__adapt_wait_with_others(wait, object, semaphore, caller);
	wait->is_watched = true;
}

void thrum__adapt_wait_lock_end(struct wait *wait, bool taken)
{
	bool is_recorded = !wait->pause.is_over;

	/* Watched, and waited for, until it has said that it has the lock. */
	if (taken && is_recorded) {
		atomic_fetch_add(watch_of(wait->address), 1);
		atomic_fetch_add(&wait->object->waiters, 1);
	}
	end_wait(wait, taken);
	if (taken)
		take_lock(wait->address, wait->caller);
	if (taken && is_recorded) {
		atomic_fetch_sub(watch_of(wait->address), 1);
		atomic_fetch_sub(&wait->object->waiters, 1);
	}
}

/* ---- Jumps ----------------------------------------------------------------------------------- */

static void leave_waits(void)
{
	while (UNLIKELY(paused.count > 0)) {
		struct pause *pause = paused.all[--paused.count];

		if (pause->is_wait)
			end_wait((struct wait *)pause, false);
		else
			thrum__adapt_go_on(pause);
	}
}

/* Programs that are compiled with _FORTIFY_SOURCE call this. */
_Noreturn void __longjmp_chk(struct __jmp_buf_tag place[1], int value);

#define JUMP(name) \
	REAL(name) \
	STAND_IN _Noreturn void name(struct __jmp_buf_tag place[1], int value) \
	{ \
		leave_waits(); \
		real_##name(CALLER)(place, value); \
		__builtin_unreachable(); \
	}
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
