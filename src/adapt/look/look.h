/* SPDX-License-Identifier: ISC */
/*
 * look/: threads that look what they missed.
 *
 *   look.c    long waits that look
 *   watch.c   watches of epoll that are not armed again
 *   spins.c   loops that spin
 */
#ifndef ADAPT_LOOK_H
#define ADAPT_LOOK_H

#include "adapt/relatives/relatives.h"

/* ---- look.c ---- */

/*
 * Threads that are about to wait for events or signals look from time to time what they missed:
 * children that ended, watches that are not armed again. So do waits without a time limit. Only what is
 * seen for LOOK_TWICE is recorded.
 */

/* The thread is about to wait. Keeps errno. */
void thrum__adapt_look_before(struct looking *);
/* A thread that waits for events of an epoll, and looks, calls this, too; NULL: there is nothing else. */
extern void (*_Atomic thrum__adapt_looks_also)(int epoll);
/* Called when a thread waits by epoll for a pipe of the program: may rename it. NULL: nobody does. */
extern void (*_Atomic thrum__adapt_names_also)(int fd);
/* Whether a wait may look: there is something to look for, and no signal's handler that might end the
 * call. Keeps errno. */
bool thrum__adapt_looks(const struct looking *);
/* Looks during the wait, which begins anew if that tells for what it waits. Returns whether it may look
 * again. Keeps errno. */
bool thrum__adapt_look(struct looking *);
/* Ends the wait for whatever it is. */
void thrum__adapt_look_end(struct wait *);

/* ---- watch.c ---- */

/* Watches of epoll that tell once (EPOLLONESHOT), and have to be armed again; or that tell of new data only
 * (EPOLLET), so that all has to be read. */

struct epoll_event;
/* Whether there are any. */
bool thrum__adapt_watches_once(void);
/* A call at that place is about to accept from a socket. */
void thrum__adapt_watch_accepts(int fd, const void *caller);
/* The calling thread is about to wait for events. */
void thrum__adapt_watch_turn(void);
/* It got this event. Returns its descriptor, or -1. */
int thrum__adapt_watch_told(const struct epoll_event *);
/* The descriptor of an event, or -1. */
int thrum__adapt_watch_of(const struct epoll_event *);
/* These descriptors are about to be closed. */
void thrum__adapt_watches_forget(unsigned first, unsigned last);
/* In a fork's child: no thread was told of any. */
void thrum__adapt_watches_left(void);
/* Looks for descriptors that have data of which no thread is told, as their watches are not armed
 * again, or tell of new data only, and records those that are seen for some time. The thread waits at
 * `waits_at`. Returns the task of one of this epoll, or NONE. */
thrum_task thrum__adapt_watches_look(int epoll, const void *waits_at);

/* ---- spins.c ---- */

/* The calling thread was told of so many events. Returns whether it is the same one again, so that no more is
 * to be told of it. Records that the thread waits for its end, once that lasts. Keeps errno. */
bool thrum__adapt_spin_told(const struct epoll_event *, int count, const void *caller);
/* Whether it was so the last times. */
bool thrum__adapt_spin_goes_on(void);
/* It spins no more. */
void thrum__adapt_spin_end(struct spin *);

#endif
