/* SPDX-License-Identifier: ISC */
/*
 * call/: calls of the C library that wait for the outside, and those that make descriptors.
 *
 *   blocking.def blocking.c         calls that wait for something outside
 *   loop.def loop.c                 loops that wait for descriptors
 *   signals.c                       calls that wait for a signal
 *   accepts.c                       connections that nobody accepts
 *   open.c                          FIFOs that are opened
 *   control.c                       fcntl() and ioctl()
 *   descriptors.def descriptors.c   calls that make and close descriptors
 */
#ifndef ADAPT_CALL_H
#define ADAPT_CALL_H

#include "adapt/look/look.h"

/* ---- accepts.c ---- */

/* The calling thread has waited to accept from a socket. */
void thrum__adapt_accept_over(void);
/* Whether a thread of this process alone should accept a connection, and hasn't. The calling thread is about
 * to wait for the connection until something comes. Keeps errno. */
bool thrum__adapt_accept_is_due(int fd);
/* The calling thread waits to read from such a connection: until it is accepted, for the thread which
 * accepts. Returns when there is something to read, or when it is accepted. Keeps errno. */
void thrum__adapt_accept_wait(struct wait *, const char *verb, int fd);
/* The calling thread is about to close a socket: tells of others that wait to accept from it, as that doesn't
 * wake them. Keeps errno. */
void thrum__adapt_accepts_closed(int fd, const void *caller);

/* ---- open.c ---- */

/* Called when a thread is about to open a FIFO, and when it has done so, if the first call returned true.
 * NULL: nobody wants to know. */
extern bool (*_Atomic thrum__adapt_opens_also)(const void *caller, bool begins);

/* ---- control.c ---- */

/* As thrum__adapt_file_wait, for a lock of fcntl() with that range. */
void thrum__adapt_file_lock_wait(struct wait *, const void *caller, int fd, const struct flock *);

/* ---- signals.c ---- */

/* A wait to read from a descriptor begins. If it is a signalfd that tells of children, returns when there is
 * something to read, or nothing more to look for. Keeps errno. */
void thrum__adapt_signals_wait(struct wait *, int fd, const void *caller);

/* ---- descriptors.c ---- */

/* The numbers first … last mean something else from now on. */
void thrum__adapt_descriptors_forget(unsigned first, unsigned last);

#endif
