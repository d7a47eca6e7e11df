/* SPDX-License-Identifier: ISC */
/*
 * Locks that a child got by fork while a thread of this process held them. The child has no such thread,
 * so nobody releases its copy. Its memory tells who held what at the fork: the adapters' notes are copied,
 * too. So both the child and its parent find out for what the child waits.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "adapt/base/forked.h"

#define SHARED 128 /* in a mutex's kind */

/* If a process's only thread waits for something of its own, and as long as it takes, returns its address,
 * else 0. */
static uintptr_t waits_at(pid_t process)
{
	struct process_call call;

	if (!thrum__adapt_process_call(process, 0, &call) || call.number != SYS_futex)
		return 0;
	switch (call.arguments[1] & ~(unsigned long)FUTEX_CLOCK_REALTIME) {
	case FUTEX_WAIT_PRIVATE:
	case FUTEX_WAIT_BITSET_PRIVATE:
	case FUTEX_LOCK_PI_PRIVATE: break;
	default: return 0;
	}
	return thrum__adapt_call_is_endless(&call) && thrum__adapt_process_is_single(process)
		? call.arguments[0]
		: 0;
}

/* Returns the thread that holds the mutex at an address of a process, by the lock itself; 0: it is no
 * mutex, or free. */
static uint32_t holder_of(pid_t process, uintptr_t at)
{
	pthread_mutex_t mutex;

	return thrum__adapt_process_copy(process, at, &mutex, sizeof mutex) &&
			mutex.__data.__lock != 0
		? (uint32_t)mutex.__data.__owner
		: 0;
}

/* Whether a thread that waits there wants this lock. A mutex has to name the holder, too. */
static bool is_lock(pid_t process, uintptr_t lock, uintptr_t at, uint32_t holder)
{
	const pthread_rwlock_t *rwlock = (const void *)lock;

	return at == (uintptr_t)&rwlock->__data.__wrphase_futex ||
		at == (uintptr_t)&rwlock->__data.__writers_futex ||
		(at == lock && holder_of(process, at) == holder);
}

/* The address of a caller that another copy of this process noted: it may have other chains. */
static const void *caller_in(pid_t process, uintptr_t caller)
{
	const struct thrum__site_chain *chain = thrum__adapt_chain_at((const void *)caller);
	struct thrum_site site;

	if (!chain)
		return (const void *)caller;
	return thrum__adapt_process_copy(process, (uintptr_t)&chain->site, &site, sizeof site)
		? site.function
		: NULL;
}

/* Finds it among the locks that were noted. */
static bool find_noted(pid_t process, uintptr_t at, struct forked_wait *found)
{
	for (const struct thread *t = thrum__adapt_threads(); t; t = t->next) {
		struct thread then;
		uint32_t n;

		if (!thrum__adapt_process_copy(process, (uintptr_t)t, &then, sizeof then) ||
			!then.tid)
			continue;
		n = then.holds < HELD_MAX ? then.holds : HELD_MAX;
		for (uint32_t i = 0; i < n; i++)
			if (is_lock(process, then.held[i].lock, at, then.tid)) {
				*found = (struct forked_wait){(const void *)then.held[i].lock,
					caller_in(process, then.held[i].caller & ~RECORDED),
					then.tid};
				return true;
			}
	}
	return false;
}

bool thrum__adapt_forked_wait(pid_t self, pid_t process, struct forked_wait *found)
{
	uintptr_t at = waits_at(process);
	char path[48], name[PROCESS_TEXT];

	if (!at || !thrum__adapt_process_is_copy(self, process))
		return false;
	if (find_noted(process, at, found))
		return true;
	/* It was taken before the recording began. */
	*found = (struct forked_wait){(const void *)at, NULL, holder_of(process, at)};
	return found->tid != 0 &&
		thrum__adapt_process_read(self, thrum__adapt_thread_file(path, found->tid, "/comm"),
			name) > 0;
}

void thrum__adapt_forked_label(char label[FORKED_TEXT], pid_t self, const struct forked_wait *wait)
{
	char path[48], name[PROCESS_TEXT];
	char *to = thrum__adapt_put_number(stpcpy(label, "left locked by thread "), wait->tid);

	thrum__adapt_thread_file(path, wait->tid, "/comm");
	if (thrum__adapt_process_read(self, path, name) > 0) {
		name[strcspn(name, "\n")] = '\0';
		to = stpcpy(stpcpy(stpcpy(to, " ("), name), ")");
	}
	/* Readers name the place at the end of a label. */
	thrum__adapt_label(stpcpy(to, " at the fork: "), "lock", wait->lock);
}

bool thrum__adapt_is_shared(const void *lock, const char *noun)
{
	const pthread_mutex_t *mutex = lock;
	const pthread_rwlock_t *rwlock = lock;

	return strcmp(noun, "mutex") == 0 ? mutex->__data.__kind & SHARED
					  : strcmp(noun, "rwlock") == 0 && rwlock->__data.__shared;
}

struct object *thrum__adapt_forked_lock(const void *lock, const char *noun, uint32_t tid)
{
	struct forked_wait wait = {.lock = lock};
	char label[FORKED_TEXT];
	struct object *object;

	for (const struct thread *t = thrum__adapt_threads(); t; t = t->next) {
		uint32_t its = atomic_load_explicit(&t->tid, memory_order_relaxed);

		if (!its || (tid && its != tid) || !thrum__adapt_thread_holds(t, lock))
			continue;
		/* A thread of this process releases it. */
		if (!atomic_load(&t->is_left))
			return NULL;
		wait.tid = its;
		wait.caller = thrum__adapt_lock_caller(t, lock);
	}
	if (!wait.tid || thrum__adapt_is_shared(lock, noun))
		return NULL;
	thrum__adapt_forked_label(label, thrum__adapt_parent, &wait);
	object = thrum__adapt_object_named(lock, THRUM_KIND_TASK, label, wait.caller);
	if (object)
		thrum_task_should_resolve(atomic_load(&object->task));
	return object;
}

bool thrum__adapt_has_held(void)
{
	for (const struct thread *t = thrum__adapt_threads(); t; t = t->next)
		if (atomic_load_explicit(&t->tid, memory_order_relaxed) &&
			atomic_load_explicit(&t->holds, memory_order_relaxed))
			return true;
	return false;
}
