/* SPDX-License-Identifier: ISC */
/*
 * Waits for conditions and semaphores that several processes share. If the memory has no name, only relatives
 * can know it: so a thread looks whether it and they all wait for each other. A thread that waits for a
 * semaphore looks from time to time. One that waits for a condition could miss a signal then, so it looks
 * before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>

#include "adapt/ipc/ipc.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

#define SHARE 50 /* looks take no more than this part of the time */

REAL(sem_timedwait)
REAL(sem_wait)

/* ---- Semaphores -------------------------------------------------------------------------------- */

static struct process_call call_for(const void *object)
{
	return (struct process_call){SYS_futex, {(unsigned long)object, FUTEX_WAIT}};
}

/* Looks who has permits of the object, and whether all wait for each other. held NULL: it has none. Returns
 * whether there is nothing more to find out. */
static bool look(struct held *held, struct ipc_look *look, const void *object)
{
	const struct process_call call = call_for(object);
	int error = errno, before;
	bool tells;

	if (is_limited())
		return true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	tells = (held &&
			(thrum__adapt_held_look_again(held) ||
				thrum__adapt_posters_look(look, held->key))) ||
		thrum__adapt_ipc_look(look, &call);
	pthread_setcancelstate(before, NULL);
	errno = error;
	return tells;
}

int thrum__adapt_down_shared(struct wait *wait, void *semaphore, const void *caller)
{
	struct ipc_look looked = {wait, THRUM_KIND_HANDLE, "shared semaphore", true, 0, false, 0,
		0};
	uint64_t key = thrum__adapt_share_key(semaphore);
	/* Also when the thread is cancelled. */
	struct held held __attribute__((cleanup(thrum__adapt_held_end))) = {.wait = wait,
		.key = key,
		.caller = caller,
		.note = FORKS_WAITS};
	int result = -1, pause = LOOK_FIRST;
	bool tells = false;

	if (is_own(semaphore) || wait->pause.is_over || wait->pause.is_untold ||
		thrum__adapt_had_handlers() ||
		!thrum__adapt_ipc_is_nameless(own_pid(), (unsigned long)semaphore))
		return 1;
	held.note = thrum__adapt_set_waits(key ? key : (uintptr_t)semaphore);
	thrum__adapt_set_wait_looks(held.note, true);
	for (; !tells && !thrum__adapt_had_handlers();
		pause = thrum__adapt_ipc_pause(&looked, pause)) {
		struct timespec until = after_ms(pause);
		int error = errno;

		result = real_sem_timedwait(caller)(semaphore, &until);
		if (result == 0 || errno != ETIMEDOUT)
			return result;
		errno = error;
		tells = look(&held, &looked, semaphore);
	}
	return real_sem_wait(caller)(
		semaphore); /* here, as the note has to stay until it is over */
}

bool thrum__adapt_down_lasts(void *semaphore, const void *caller, int *result)
{
	struct timespec until = after_ms(LOOK_FIRST);
	int error = errno;

	if (!thrum__adapt_had_handlers()) {
		*result = real_sem_timedwait(caller)(semaphore, &until);
		if (*result == 0 || errno != ETIMEDOUT)
			return false;
		errno = error;
	}
	/* One with a name may be posted by anybody, so there is nothing to tell. */
	if (!thrum__adapt_ipc_is_nameless(own_pid(), (unsigned long)semaphore)) {
		errno = error;
		*result = real_sem_wait(caller)(semaphore);
		return false;
	}
	thrum__adapt_start();
	errno = error;
	return true;
}

/* ---- Conditions -------------------------------------------------------------------------------- */

void thrum__adapt_condition_look(struct wait *wait, const void *condition, const void *lock)
{
	static _Atomic int64_t next;
	const pthread_mutex_t *mutex = lock;
	struct ipc_look looked = {wait, THRUM_KIND_HANDLE, "shared condition", true, 0, false, 0,
		0};
	int64_t began = (int64_t)thrum__port_monotonic(), now;

	if (wait->pause.is_over || wait->pause.is_untold || began < atomic_load(&next) ||
		thrum__adapt_had_handlers())
		return;
	/* 1: nobody waits for the mutex, who would go on once it is released. */
	for (int i = 0; i < 2 && (i == 0 || looked.before); i++)
		if (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_ACQUIRE) == 1)
			look(NULL, &looked, condition);
	now = (int64_t)thrum__port_monotonic();
	atomic_store(&next, now + (now - began) * SHARE);
}
