/* SPDX-License-Identifier: ISC */
/*
 * call/: calls of the C library that wait for the outside, and those that make descriptors.
 *
 *   blocking.def blocking.c         calls that wait for something outside
 *   begin.c                         their waits
 *   large_writes.c                  writes of more than a pipe has room for
 *   loop.def loop.c                 loops that wait for descriptors
 *   signals.c                       calls that wait for a signal
 *   accepts.c                       connections that nobody accepts
 *   open.c                          FIFOs that are opened
 *   fifos.c                         FIFOs that only this program knows
 *   lock_file.c                     files that are locks
 *   control.c                       fcntl() and ioctl()
 *   descriptors.def descriptors.c   calls that make and close descriptors
 */
#ifndef ADAPT_CALL_H
#define ADAPT_CALL_H

#include "adapt/look/look.h"

/* ---- begin.c: the calling thread begins to wait, until thrum__adapt_wait_end ---- */

/* It reads from a descriptor; the verb begins the name of what it waits for. may_end: the call can fail with
 * EINTR. Returns whether it has to, as a handler ran. */
bool thrum__adapt_begin_read(struct wait *, const void *caller, const char *verb, int fd,
	bool may_end);
/* The same for a call that writes, and may hold signals already (NULL: it doesn't). */
bool thrum__adapt_begin_write(struct wait *, const void *caller, int fd, enum side,
	struct held_signals *);
/* Somebody outside does something with a descriptor, and ends it. */
void thrum__adapt_begin_request(struct wait *, const void *caller, const char *verb, int fd);
/* It connects to a peer, or NULL if that isn't known. Keeps errno. */
void thrum__adapt_begin_connect(struct wait *, const void *caller, const struct sockaddr *peer,
	socklen_t length);
/* It asks for the address of a host. */
void thrum__adapt_begin_lookup(struct wait *, const void *caller, const char *name);
/* It waits for one child, for any (-1), or for one that isn't known (0), with the options of waitpid().
 * Returns whether a handler ended the call. */
bool thrum__adapt_begin_child(struct wait *, const void *caller, pid_t process, int options);
/* It sleeps for a time, or with the flags of clock_nanosleep(). */
void thrum__adapt_begin_sleep(struct wait *, const void *caller, const struct timespec *);
void thrum__adapt_begin_clock_sleep(struct wait *, const void *caller, clockid_t, int flags,
	const struct timespec *);
/* A time in nanoseconds; what is longer than 68 years counts as that. */
int64_t thrum__adapt_ns_of(const struct timespec *);

/* ---- large_writes.c ---- */

#define LARGE 4096 /* bytes: a smaller write to a pipe is atomic */
#define NOWAIT 8   /* RWF_NOWAIT, which not every C library has */
/* Whether a pipe has no room for so much, and it is more than that. Keeps errno. */
bool thrum__adapt_lacks_room(int fd, size_t size);
/* Whether such a write may be made in several calls, so that the thread looks while it waits: to a pipe of
 * several processes, and no handler may interrupt it. Changes errno. */
bool thrum__adapt_is_large(int fd, size_t size);
/* Makes it, in a wait that has begun. Returns and sets errno as write() does. */
ssize_t thrum__adapt_write_large(struct wait *, int fd, const void *from, size_t size,
	const void *caller);

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

/* ---- fifos.c ---- */

/* Whether only this process knows a FIFO with this path: no child might have been told of it. Keeps errno. */
bool thrum__adapt_fifo_is_own(const char *path);

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

/* ---- lock_file.c ---- */

/* A call has made a file that must not exist before, with this descriptor; or failed with errno (-1). Keeps
 * errno. Async-signal-safe, unless it begins the recording. */
void thrum__adapt_lock_file(int folder, const char *path, int fd, const void *caller);
/* A call has opened a file that may have existed before, or removed one. Keeps errno. Async-signal-safe. */
void thrum__adapt_lock_file_used(int folder, const char *path);

#endif
