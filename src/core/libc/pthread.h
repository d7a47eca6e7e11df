/* SPDX-License-Identifier: ISC */
/* Locks of processors instead of threads: they spin. */
#ifndef CORE_LIBC_PTHREAD_H
#define CORE_LIBC_PTHREAD_H

#include <stdbool.h>

typedef struct {
	bool taken;
} pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER \
	{ \
		false \
	}

static inline int pthread_mutex_lock(pthread_mutex_t *lock)
{
	while (__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE))
		;
	return 0;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	__atomic_clear(&lock->taken, __ATOMIC_RELEASE);
	return 0;
}

typedef pthread_mutex_t pthread_once_t;
#define PTHREAD_ONCE_INIT \
	{ \
		false \
	}

static inline int pthread_once(pthread_once_t *once, void (*call)(void))
{
	if (!__atomic_test_and_set(&once->taken, __ATOMIC_ACQ_REL))
		call();
	return 0;
}

/* No thread ends, and none forks: there are no keys, and handlers are never called. */
typedef unsigned pthread_key_t;

static inline int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	(void)key;
	(void)destructor;
	return 1;
}

static inline int pthread_key_delete(pthread_key_t key)
{
	(void)key;
	return 0;
}

static inline int pthread_setspecific(pthread_key_t key, const void *value)
{
	(void)key;
	(void)value;
	return 1;
}

static inline int pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
	(void)before;
	(void)parent;
	(void)child;
	return 0;
}

#endif
