/* SPDX-License-Identifier: ISC */
/*
 * relatives/: what processes have of each other: this one, its parent, its children, theirs.
 *
 *   processes.c   finds them
 *   children.c    children that ended and are not waited for
 *   starters.c    who starts children
 *   sent.c        signals that came too soon
 *   unheard.c     signals that should end a child, and don't
 *   needs.c       who could end waits for the kernel's semaphores and queues, or in shared memory
 */
#ifndef ADAPT_RELATIVES_H
#define ADAPT_RELATIVES_H

#include "adapt/base/base.h"

#include <signal.h>

/* ---- children.c ---- */

/* Such a call as waitpid() for a child, or for any (-1), has returned: notes the child that it took, or that
 * another call has taken it. Returns the result. Keeps errno. */
pid_t thrum__adapt_child_waited(const void *caller, pid_t process, const int *status, int options,
	pid_t result);
/* The same for waitid(). */
void thrum__adapt_child_learned(int result, const siginfo_t *);
/* Other code takes its own children. */
void thrum__adapt_children_divided(void);
/* The calling thread waits for the signal of a child's end. If the program has taken children, none is left
 * and no other thread starts any, returns a task that tells it; else NONE. is_alone: the others
 * only nap or wait, and never started one. */
thrum_task thrum__adapt_children_none(bool is_alone, const void *caller);
/* Whether a signal's handler has taken the last child since that time of CLOCK_MONOTONIC, and the calling
 * thread is the only one. Changes errno. */
bool thrum__adapt_children_gone(int64_t since);
/* Returns a task that tells it to the thread, which waits for the handler of SIGCHLD. */
thrum_task thrum__adapt_children_tell_gone(const void *caller);
/* Whether a child has ended, or any if `process` isn't positive, and nobody has taken it: 1 if so, 0 if
 * not, -1 if there is no such child. Tells of it. Changes errno. */
int thrum__adapt_child_ended(pid_t process, siginfo_t *told);
/* Whether a child has ended, and the program never took any. Changes errno. */
bool thrum__adapt_children_untaken(void);
/* In a fork's child: it has no children. */
void thrum__adapt_children_left(void);
/* Whether the calling thread is the one that takes children which ended. is_told: it waits for the
 * signal that tells of them. */
bool thrum__adapt_takes_children(bool is_told);
/* Looks for children that ended and aren't taken, and records those that are seen for some time.
 * Returns the task of one, for which the calling thread should wait; or NONE. */
thrum_task thrum__adapt_children_look(bool is_told);

/* ---- starters.c ---- */

/* The calling thread has started a child, or has taken one. */
void thrum__adapt_children_started(void);
void thrum__adapt_starters_took(void);
/* In a fork's child: it has none. */
void thrum__adapt_starters_left(void);
/* Whether the calling thread alone ever started children, also again and again after it had taken all. */
bool thrum__adapt_starts_alone(void);

/* ---- sent.c ---- */

/* The calling thread is about to wait for a signal's handler, or has waited. */
void thrum__adapt_sent_begin(void);
void thrum__adapt_sent_over(void);
/* The same, if it is recorded; with these signals held back, NULL: as now. If the only signal that may
 * come seems to have come before, it waits and looks, and returns true once a handler has run. Then
 * errno is EINTR, else unchanged. */
bool thrum__adapt_sent_wait(struct wait *, const sigset_t *mask, const void *caller);
/* Whether the calling thread is about to wait, with these signals held back, for the handler of SIGCHLD
 * alone, which has taken the last child since the wait before. Keeps errno. */
bool thrum__adapt_sent_is_gone(const sigset_t *mask);
/* Returns a task that tells of a signal of this set which came during the calling thread's wait for it, since
 * that time of CLOCK_MONOTONIC, and which another thread has taken by its handler; NONE: there is none. */
thrum_task thrum__adapt_sent_taken(const sigset_t *set, int64_t wait, const void *caller);

/* The calling thread has taken a signal by such a call as sigwait(), not by a handler. Keeps errno. */
void thrum__adapt_sent_took(int number);
/* Whether one of these signals was sent to this process again before the first was taken: both became
 * one. */
bool thrum__adapt_sent_is_merged(const sigset_t *);
/* The calling thread waits for one of these. If two became one, and the process that sent the second waits
 * for a signal itself, as do all relatives, returns a task that tells it; else NONE. */
thrum_task thrum__adapt_sent_merged(const sigset_t *, const void *caller);

/* Whether this process has sent a signal to another. */
bool thrum__adapt_has_sent(void);

/* ---- unheard.c ---- */

/* A signal that this process sent to another one, so that it ends. */
struct unheard {
	int number;
	enum thrum__adapt_unheard {
		UNHEARD_NOT, /* it isn't known that it has no effect */
		UNHEARD_BLOCKED,
		UNHEARD_IGNORED /* as it was already before it was sent */
	} how;
	int64_t since;  /* when it was seen first */
	uint64_t sleep; /* differs once the process sleeps anew; 0: it doesn't sleep, or for long */
	bool works;     /* its main thread is in no call */
	bool is_told; /* it has lasted: a process that goes round may be seen in any part of that */
};
#define UNHEARD_NONE ((struct unheard){.how = UNHEARD_NOT})
/* Finds such a signal that has no effect just now; UNHEARD_NONE: there is none. */
struct unheard thrum__adapt_find_unheard(pid_t process);
/* Whether two such findings, one after the other, are about the same signal. */
static inline bool thrum__adapt_is_same_unheard(const struct unheard *a, const struct unheard *b)
{
	return a->how == b->how && a->number == b->number;
}
/* Whether that has lasted since the finding before, so that the process isn't about to hear the signal or to
 * end by itself: it doesn't just sleep for a time, or work for a moment. */
bool thrum__adapt_lasts_unheard(const struct unheard *now, const struct unheard *before);
/* Whether this process has sent a signal to another one, as far as is known. */
bool thrum__adapt_has_sent_to(pid_t process);

#endif
