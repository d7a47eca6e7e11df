/* SPDX-License-Identifier: ISC */
/*
 * look/: threads that look what they missed.
 *
 *   look.c    long waits that look
 *   watch.c   watches of epoll that are not armed again
 *   spins.c   loops that spin
 *   unsent.c  rests that nobody sends
 *   others.c  what all other threads wait for
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
/* The same during a wait with a time limit, whose record stays: only for what thrum__adapt_has_left says. */
bool thrum__adapt_look_limited(struct looking *);
/* Whether there may be data or a rest that nobody takes: see unsent.c. */
static inline bool thrum__adapt_has_left(void)
{
	return thrum__adapt_unsent_used() > 0;
}
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
/* Whether an epoll is asked for this event of a descriptor. */
bool thrum__adapt_watch_has(int fd, uint32_t event);
/* Whether all that epolls were asked for comes from this program: see thrum__adapt_others_look. */
bool thrum__adapt_watches_are_inside(bool is_strict);
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

/* ---- unsent.c ---- */

/* Looks for writes that fell short, and that nobody will complete though there has been room for long, while
 * somebody waits for the rest. Returns the task of one, for which the calling thread should wait; or
 * NONE. */
thrum_task thrum__adapt_unsent_look(const struct looking *);

/* ---- others.c ---- */

/* The other threads, for one descriptor. */
struct others {
	int fd, peer;   /* peer: its other end, in this process */
	short event;    /* POLLIN or POLLOUT */
	bool is_strict; /* a listening socket or a timer counts as the outside */
	/* These are found out: */
	bool is_awake;     /* one doesn't wait, or has a time limit */
	bool is_watched;   /* one waits for that event, or may do so */
	bool is_outside;   /* one waits for something that doesn't come from this program */
	thrum_task waiter; /* that waits for the other end; or NONE */
};
/* Looks at all other threads while the calling one is about to wait. Returns whether all of them sleep, one
 * waits for the other end, nobody waits for the event, and the program has no child that might have the
 * descriptor, too. */
bool thrum__adapt_others_look(struct others *, const struct looking *);
/* Whether nothing but this program lets a descriptor be read: it is a pipe of the program, or a connection
 * both of whose ends it has; or, unless that is strict, a timer, or a socket that listens. */
bool thrum__adapt_is_inside(int fd, bool is_strict);

/* ---- spins.c ---- */

/* The calling thread was told of so many events. Returns whether it is the same one again, so that no more is
 * to be told of it. Records that the thread waits for its end, once that lasts. Keeps errno. */
bool thrum__adapt_spin_told(const struct epoll_event *, int count, const void *caller);
/* Whether it was so the last times. */
bool thrum__adapt_spin_goes_on(void);
/* It spins no more. */
void thrum__adapt_spin_end(struct spin *);

#endif
