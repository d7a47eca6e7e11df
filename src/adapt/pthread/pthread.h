/* SPDX-License-Identifier: ISC */
/*
 * pthread/: the adapter of pthreads and C11 threads.
 *
 *   pthread.def threads.c locks.c     threads, mutexes and read-write locks
 *   conditions.def conditions.c       conditions, barriers and semaphores
 *   owner.c                           which other process holds a mutex
 */
#ifndef ADAPT_PTHREAD_H
#define ADAPT_PTHREAD_H

#include "adapt/base/base.h"

/* ---- conditions.c ---- */

/* Records a signal to those who wait for a condition. If nobody hears one after the other, ever fewer of them
 * are recorded. */
void thrum__adapt_tell_signal(const void *condition, const void *caller);

/* ---- owner.c ---- */

/* Takes a mutex that several processes share, while nothing is recorded. If it has to wait for long for a
 * relative, or for a child that has ended, the recording starts. Returns -1 then, and if it is no such mutex.
 * Keeps errno. */
int thrum__adapt_lock_shared(void *lock, const void *caller);
/* Takes a mutex that several processes share, and for which the wait is recorded. Tells meanwhile which other
 * process has it. Returns -1 if it is no such mutex. */
int thrum__adapt_wait_shared(struct wait *, void *lock, const void *caller);

#endif
