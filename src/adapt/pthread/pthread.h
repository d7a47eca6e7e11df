/* SPDX-License-Identifier: ISC */
/*
 * pthread/: the adapter of pthreads and C11 threads.
 *
 *   pthread.def threads.c locks.c     threads, mutexes and read-write locks
 *   conditions.def conditions.c       conditions, barriers and semaphores
 *   posts.c                           how often and where permits were given back
 *   futex.c                           the program's own locks and conditions
 *   owner.c                           which other process holds a mutex
 */
#ifndef ADAPT_PTHREAD_H
#define ADAPT_PTHREAD_H

#include "adapt/base/base.h"

/* ---- conditions.c ---- */

/* Records a signal to those who wait for a condition. If nobody hears one after the other, ever fewer of them
 * are recorded. */
void thrum__adapt_tell_signal(const void *condition, const void *caller);

/* The same for an object for which so many wait. */
void thrum__adapt_tell_signal_of(struct object *, uint32_t waiters, const void *caller);

/* Whether the program has made conditions that several processes share. Async-signal-safe. */
bool thrum__adapt_shares_conditions(void);

/* ---- posts.c ---- */

/* A semaphore begins, with so many permits; 0 also if other processes may post it. */
void thrum__adapt_posts_begin(const void *semaphore, unsigned permits);
/* The calling thread is about to post it, there. Async-signal-safe. */
void thrum__adapt_posts_note(const void *semaphore, const void *caller);
/* Waits for it, and names it anew if that lasts for long. Returns the call's result; 1: the call is still to
 * be made. */
int thrum__adapt_posts_wait(const struct wait *, void *semaphore, const void *caller);

/* ---- futex.c ---- */

/* The calling thread is about to make the system call futex() with these arguments. Begins a wait if it is
 * one of the program's own that waits; else that is over. To be ended by thrum__adapt_wait_end(). */
void thrum__adapt_futex_wait(struct wait *, const long arguments[6], const void *caller);
/* The same, if the call wakes others: records a signal. */
void thrum__adapt_futex_wake(const long arguments[6], const void *caller);

/* ---- owner.c ---- */

/* Takes a mutex that several processes share, while nothing is recorded. If it has to wait for long for a
 * relative, or for a child that has ended, the recording starts. Returns -1 then, and if it is no such mutex.
 * Keeps errno. */
int thrum__adapt_lock_shared(void *lock, const void *caller);
/* Takes a mutex that several processes share, and for which the wait is recorded. Tells meanwhile which other
 * process has it. Returns -1 if it is no such mutex. */
int thrum__adapt_wait_shared(struct wait *, void *lock, const void *caller);

#endif
