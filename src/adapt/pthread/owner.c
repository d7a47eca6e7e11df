/* SPDX-License-Identifier: ISC */
/*
 * Mutexes that several processes share. The mutex itself names the thread that has it. If that belongs to a
 * child, the parent or a sibling, a thread that waits for long tells which process it is. It also tells which
 * one has ended with the mutex, if it is known who started that. Others may have other numbers for
 * themselves, so nothing is told of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/pthread/pthread.h"
#include "adapt/relatives/relatives.h"
#include "port/port.h"

REAL(pthread_mutex_trylock)
REAL(pthread_mutex_timedlock)
REAL(pthread_mutex_unlock)

/* ---- The mutex --------------------------------------------------------------------------------- */

#define SHARED 128 /* in its kind */

/* Whether this C library keeps the owner and the kind where this file reads them. */
static bool is_layout_known(void)
{
	static _Atomic int known; /* 1: yes; -1: no */
	static pthread_mutex_t mutex;
	pthread_mutexattr_t attributes;
	int now = atomic_load(&known), none = 0;

	if (now != 0 || !atomic_compare_exchange_strong(&known, &none, -1))
		return now > 0;
	if (pthread_mutexattr_init(&attributes) != 0)
		return false;
	if (pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
		pthread_mutex_init(&mutex, &attributes) == 0 && mutex.__data.__kind == SHARED &&
		mutex.__data.__owner == 0 && real_pthread_mutex_trylock(NULL)(&mutex) == 0) {
		if ((uint32_t)mutex.__data.__owner == own_tid())
			atomic_store(&known, 1);
		real_pthread_mutex_unlock(NULL)(&mutex);
	}
	pthread_mutexattr_destroy(&attributes);
	return atomic_load(&known) > 0;
}

static uint32_t owner_of(const pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED)
		? (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) & 0x3fffffff
		: 0;
}

/* ---- The process ------------------------------------------------------------------------------- */

enum state {
	STRANGE, /* it isn't known, or a thread of this process */
	LIVES,
	ENDED
};

static bool is_thread_of(pid_t process, pid_t owner)
{
	char path[48], text[PROCESS_TEXT];

	strcpy(thrum__adapt_put_number(stpcpy(path, "/task/"), (uint64_t)owner), "/stat");
	return thrum__adapt_process_read(process, path, text) > 0;
}

/* Whether a process has ended. Its first thread may have done so alone. */
static bool has_ended(pid_t process)
{
	return syscall(SYS_kill, process, 0) != 0
		? errno == ESRCH
		: thrum__adapt_process_is_over(process) && thrum__adapt_process_is_single(process);
}

/* Whether a process was started by one of those that thrum records, or is the parent of this one. */
static bool is_relative(pid_t process)
{
	const void *caller;

	return thrum__adapt_started_at(process) || process == thrum__adapt_parent ||
		thrum__adapt_fork_starter(process, &caller) != 0;
}

static enum state state_of(pid_t owner)
{
	pid_t parent;

	if (owner == 0 || is_thread_of(own_pid(), owner))
		return STRANGE;
	if (is_thread_of(getppid(), owner))
		return LIVES;
	if (has_ended(owner))
		return is_relative(owner) ? ENDED : STRANGE;
	parent = thrum__adapt_process_parent(owner);
	return parent == getppid() || parent == own_pid() ? LIVES : STRANGE;
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

/* The process that is told to have the mutex. */
struct owner {
	uint32_t tid;
	enum state state;
	thrum_task task;
};

static void tell_owner(const struct wait *wait, struct owner *owner)
{
	bool is_over = owner->state == ENDED;
	char label[PROCESS_TEXT + PLACE_MAX + ENDING_TEXT + 40], *to;
	pid_t process = (pid_t)owner->tid;
	bool is_child = thrum__adapt_started_at(process) != NULL;
	const void *place = is_over ? thrum__adapt_place_of_ended(process)
				    : thrum__adapt_started_by_copy(process);

	to = stpcpy(label, is_over && is_child ? "child " : "");
	to = thrum__adapt_put_process_name(to, process);
	to = is_over ? thrum__adapt_put_ending(to, process) : to;
	*thrum__adapt_put_starter(to, process) = '\0';
	owner->task = thrum__create(thrum__adapt_site(place ? place : wait->caller),
		is_over ? THRUM_KIND_TASK : THRUM_KIND_HANDLE, label);
	thrum__lock_held(NULL, owner->task, atomic_load(&wait->object->task));
	if (is_over)
		thrum_task_resolve(owner->task);
}

/* It has the mutex no longer. */
static void end_owner(const struct wait *wait, struct owner *owner)
{
	thrum_task before = thrum_task_current();

	if (!owner->task)
		return;
	thrum_task_switch(owner->task);
	thrum_lock_released(atomic_load(&wait->object->task));
	thrum_task_switch(before);
	if (owner->state == LIVES)
		thrum_task_resolve(owner->task);
	atomic_store(&wait->object->count, 0);
	owner->task = THRUM_TASK_NONE;
}

/* Looks who has the mutex. One of the threads that wait tells it. */
static void look_at_owner(struct wait *wait, const pthread_mutex_t *mutex, struct owner *owner)
{
	struct owner now = {.tid = owner_of(mutex)};
	uint32_t nobody = 0;

	now.state = state_of((pid_t)now.tid);
	/* Another may have got it meanwhile. */
	if (now.tid != owner_of(mutex) || (now.tid == owner->tid && now.state == owner->state))
		return;
	end_owner(wait, owner);
	*owner = now;
	if (now.state != STRANGE &&
		atomic_compare_exchange_strong(&wait->object->count, &nobody, now.tid))
		tell_owner(wait, owner);
	else
		owner->state = STRANGE; /* it may be told later */
	/* Nobody else has taken it since this wait began. */
	if (owner->state == ENDED)
		thrum__adapt_wait_again(wait, true);
}

int thrum__adapt_lock_shared(void *lock, const void *caller)
{
	pthread_mutex_t *mutex = lock;
	int result;

	if (!is_chosen(ADAPTER_PTHREAD) || !(mutex->__data.__kind & SHARED) || !is_layout_known())
		return -1;
	for (int pause = LOOK_FIRST;; pause = next_pause(pause)) {
		struct timespec until = after_ms(pause);
		int error = errno, before;
		bool is_known;

		result = real_pthread_mutex_timedlock(caller)(mutex, &until);
		if (result != ETIMEDOUT)
			return result;
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		is_known = state_of((pid_t)owner_of(mutex)) != STRANGE;
		if (is_known)
			thrum__adapt_start();
		pthread_setcancelstate(before, NULL);
		errno = error;
		if (is_known)
			return -1;
	}
}

int thrum__adapt_wait_shared(struct wait *wait, void *lock, const void *caller)
{
	pthread_mutex_t *mutex = lock;
	struct owner owner = {.tid = 0};
	int result, pause = LOOK_FIRST, before;

	if (wait->pause.is_over || wait->pause.is_untold || !(mutex->__data.__kind & SHARED) ||
		!is_layout_known())
		return -1;
	for (;; pause = next_pause(pause)) {
		struct timespec until = after_ms(pause);

		result = real_pthread_mutex_timedlock(caller)(mutex, &until);
		if (result != ETIMEDOUT)
			break;
		int error = errno;

		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		look_at_owner(wait, mutex, &owner);
		pthread_setcancelstate(before, NULL);
		errno = error;
	}
	end_owner(wait, &owner);
	return result;
}
