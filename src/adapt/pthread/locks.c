/* SPDX-License-Identifier: ISC */
/* Mutexes and read-write locks. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "adapt/pthread/pthread.h"

/* glibc keeps the holder's thread id in the lock: its layout is part of the interface, as locks are
 * initialized statically. */
static uint32_t mutex_tid(const void *lock)
{
	const pthread_mutex_t *mutex = lock;

	for (int i = 0; i < 1000; i++) {
		int owner = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);

		/* The holder may have taken the lock, but not written its id yet. */
		if (owner || !__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED))
			return (uint32_t)owner & 0x3fffffff;
	}
	return 0;
}

static uint32_t writer_tid(const void *lock)
{
	const pthread_rwlock_t *rwlock = lock;

	return (uint32_t)__atomic_load_n(&rwlock->__data.__cur_writer, __ATOMIC_RELAXED);
}

/* A robust mutex whose holder died is taken, too. */
static inline bool is_taken(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

#define TAKE(name, parameters, arguments, try, noun, tid, valid) REAL(name)
#define TRY(name, parameters, arguments) REAL(name)
#define DROP(name, parameters, arguments, noun) REAL(name)
#define END(name, parameters, arguments) REAL(name)
#include "adapt/pthread/pthread.def"
#undef TAKE
#undef TRY
#undef DROP
#undef END

#define LIST(...) __VA_ARGS__
/* GLib takes a read-write lock for the program. A mutex it takes in a jump, which has the program's place. */
#define PLACE(noun, caller) \
	(strcmp(noun, "rwlock") == 0 ? thrum__adapt_spawns_at(caller) : (caller))
/* A read-write lock doesn't tell who reads, so it is noted before anything is recorded: a thread may wait for
 * it that is made later. */
#define IS_NOTED(noun) \
	(may_record(ADAPTER_PTHREAD) || (strcmp(noun, "rwlock") == 0 && is_chosen(ADAPTER_PTHREAD)))

/* A thread has to wait before anything is recorded: it may have taken the lock itself. */
static NOINLINE bool begin(void)
{
	thrum__adapt_start();
	return is_on(ADAPTER_PTHREAD);
}

/* To wait is a function of its own, so that to take a free lock saves few registers. */
#define TAKE(name, parameters, arguments, try, noun, tid, valid) \
	static NOINLINE int wait_for_##name(const void *caller, LIST parameters) \
	{ \
		struct wait wait; \
\
		thrum__adapt_wait_lock(&wait, lock, tid, noun, PLACE(noun, caller), \
			IS_TIMED(name)); \
		int result = strcmp(#name, "pthread_mutex_lock") == 0 \
			? thrum__adapt_wait_shared(&wait, lock, caller) \
			: -1; \
\
		if (result < 0) \
			result = real_##name(caller) arguments; \
		thrum__adapt_wait_lock_end(&wait, is_taken(result)); \
		return result; \
	} \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (UNLIKELY(!may_record(ADAPTER_PTHREAD)) && \
			strcmp(#name, "pthread_mutex_lock") == 0) { \
			int taken = thrum__adapt_lock_shared(lock, caller); \
\
			if (taken >= 0) \
				return taken; \
		} \
		if (UNLIKELY(!IS_NOTED(noun)) || !(valid)) \
			return real_##name(caller) arguments; \
		int result = real_##try(caller)(lock); \
\
		if (LIKELY(is_taken(result))) { \
			take_lock(lock, PLACE(noun, CHAIN)); \
			return result; \
		} \
		if (UNLIKELY(!may_record(ADAPTER_PTHREAD)) && !begin()) \
			return real_##name(caller) arguments; \
		return wait_for_##name(CHAIN, LIST arguments); \
	}
#define TRY(name, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		int result = real_##name(CALLER) arguments; \
\
		if (is_taken(result) && IS_NOTED(strstr(#name, "rwlock") ? "rwlock" : "")) \
			take_lock(lock, PLACE(strstr(#name, "rwlock") ? "rwlock" : "", CHAIN)); \
		return result; \
	}
#define DROP(name, parameters, arguments, noun) \
	STAND_IN int name parameters \
	{ \
		/* Also if the recording has stopped: the thread no longer holds it. */ \
		drop_lock(lock, noun); \
		return real_##name(CALLER) arguments; \
	}
#define END(name, parameters, arguments) \
	STAND_IN int name parameters \
	{ \
		if (is_on(ADAPTER_PTHREAD)) \
			thrum__adapt_object_end(lock); \
		return real_##name(CALLER) arguments; \
	}
#include "adapt/pthread/pthread.def"
