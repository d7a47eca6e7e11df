/* SPDX-License-Identifier: ISC */
/*
 * ends/: who has what a thread waits for: the other end of a pipe or of a connection, or the lock of a file;
 * for what these wait themselves, and whether all wait for each other.
 *
 *   ends.c held_ends.c     who else has an end of a pipe
 *   spare_ends.c           children that got both ends of a pipe, and need neither
 *   left_ends.c            connections that others used, and that are left open
 *   files.c file_owner.c   locks of files
 *   child_wait.c           waits for children
 *   vain.c                 for what other processes wait
 *   stuck.c epolls.c polled.c   relatives and threads that all wait for each other
 *   told_ends.c            records what was found
 */
#ifndef ADAPT_WAITS_H
#define ADAPT_WAITS_H

#include "adapt/base/naps.h"
#include "adapt/descriptor/descriptor.h"
#include "adapt/relatives/relatives.h"

#include <poll.h>

/* ---- ends.c ---- */

/* A thread waits for a pipe to read from it, or to write to it. */
enum side {
	SIDE_READS,
	SIDE_RECEIVES, /* from a connection, and recorded as the wait for its next message */
	SIDE_WRITES,
	SIDE_TRIED /* it writes so little that all of it is written at once, which has been tried */
};

static inline bool is_writing(enum side side)
{
	return side >= SIDE_WRITES;
}

/* Signals that a thread holds back outside of its waits, so that it misses none that ends its call. */
struct held_signals {
	sigset_t before;
	bool are_held;
};

/* Holds all back: each handler of the program ends a call that waits. Keeps errno. */
void thrum__adapt_hold_signals(struct held_signals *);
/* As they were before. Keeps errno. */
void thrum__adapt_release_signals(const struct held_signals *);
/* Waits for so many ms, in which signals may come. Returns as poll(). */
int thrum__adapt_wait_for(struct pollfd *, int64_t ms, const struct held_signals *);

/*
 * The running task waits for a descriptor: a task of this kind, which ends with the wait. For a pipe
 * that others have, too, returns once it need not wait any more, or might see a signal that the call
 * itself should see, and records meanwhile who has the other end. The caller can fail with EINTR if it gives
 * `signals`, which may be held. Returns whether it has to, as a handler ran. Keeps errno else.
 * Async-signal-safe.
 */
bool thrum__adapt_ends_wait(struct wait *, enum thrum_kind, const char *verb, int fd, enum side,
	struct held_signals *, const void *caller);

/* The running task waits for a pipe whose both ends this process alone has. Says so while the program has no
 * signal handlers, which might use the pipe. Returns as ends_wait does, or true once others may have an
 * end. */
bool thrum__adapt_own_wait(struct wait *, int fd, enum side);

/* ---- vain.c ---- */

/* Whether all other threads of this process wait for as long as it takes, or nap again and again. */
bool thrum__adapt_others_nap(const struct naps *);

/* ---- files.c ---- */

/* These descriptors hold no lock of a file (flock) from now on, as far as is known. */
void thrum__adapt_files_forget(unsigned first, unsigned last);
/* Whether this descriptor (-1: any) holds a lock that the calling thread's task took. */
bool thrum__adapt_files_are_own(int fd);

/* ---- file_owner.c ---- */

/* The running task waits for a file's lock, which other processes may have. Tells who has it. owner: the
 * process that has a lock of fcntl(); -1: it isn't known; 0: it is a lock of flock(). Keeps errno.
 * Async-signal-safe. */
void thrum__adapt_file_wait(struct wait *, int fd, pid_t owner, const void *caller);

/* ---- child_wait.c ---- */

/* The wait for a child is recorded, or for any if that isn't positive: looks whether it waits for
 * this process, or all do. Returns whether a handler ran that ends the call: then errno is EINTR, else
 * unchanged. */
bool thrum__adapt_child_wait(struct wait *, const char *label, pid_t);
/* Begins the recording of a program that waits for children which it forked, and which run no other program:
 * they may hang. Returns whether it did. Keeps errno. */
bool thrum__adapt_children_begin(void);
/* The same once such a wait lasts: it waits for a while itself, where nothing is recorded yet.
 * `process` is the child, or not positive for any. Returns whether a handler ran that ends the
 * call, with errno EINTR. */
bool thrum__adapt_children_interrupt(pid_t process);

/* ---- epolls.c ---- */

#define LOOK_FEW 2 /* pipes that are waited for as if each were the only one */
struct pollfd;
/* A wait of a thread that looks: see look/look.h. */
struct looking {
	struct wait *wait;
	const void *caller;
	struct thrum_tag *reason;
	int epoll;                   /* it waits for its events; -1: for others */
	const struct pollfd *polled; /* or for these; NULL: for others */
	unsigned long count;
	bool polls_pipes; /* these are several pipes of the program, and timers, without a time limit */
	const void *runner; /* of a library's loop that polls them; or NULL */
	bool is_endless;    /* it has no time limit */
	bool is_outside;    /* others than the program may end it */
	bool is_timed;      /* it ends at a time that is set */
	int limit;          /* of its time, in ms; -1: it has none */
	int stream; /* it waits for this descriptor, of which it has a line; -1: for others */
	int unwritten; /* it polls this pipe of the program alone, and no write to it is recorded; -1 */
	int alone;     /* it polls this pipe of the program alone, in a loop; -1 */
	bool is_loop; /* it polls as long as it takes, in a loop that ends only by what it polls */
	bool is_for_others; /* these come from more than pipes of the program */
	bool is_told;       /* it waits for the signal that children end */
	int pause;          /* ms until the next look */
	thrum_task told;
	uint64_t stuck;      /* not 0: all threads waited for each other in the look before */
	bool is_stuck;       /* two looks have seen that */
	uint64_t stuck_loop; /* the same of all that it polls */
};
/* Where it waits: where the program runs a library's loop, if that is known. */
static inline const void *place_of_wait(const struct looking *looking)
{
	return looking->runner ? looking->runner : looking->caller;
}
/* The pipes of which an epoll tells. -1: there is none. */
struct epoll_need {
	int first, likely; /* likely: whose writer should do something now; see epolls.c */
	int merged;        /* an eventfd from which one read took several */
	int timer; /* that isn't armed: one that was disarmed in vain, or the last of them */
	unsigned count, timers;
};
/* Whether it is a library's own pipe, to which no code of the program writes: it counts only if there is no
 * other. NULL: none is known. */
extern bool (*_Atomic thrum__adapt_is_unused)(int fd);
/* The same for a thread that polls this pipe of the program alone. Returns false if others may write to
 * it. */
bool thrum__adapt_poll_need(int fd, struct epoll_need *);
/* Finds for which pipes an epoll waits. Returns false if it waits for more than these and timers that aren't
 * armed, or for very many. */
bool thrum__adapt_epoll_need(int epoll, struct epoll_need *);
/* The same for a thread that polls these. */
bool thrum__adapt_polled_need(const struct pollfd *, unsigned long count, struct epoll_need *);
/* The calling thread doesn't wait for events of an epoll, or a new wait is about to begin. */
void thrum__adapt_epoll_leave(struct thread *);
static inline void thrum__adapt_epoll_waits(void)
{
	struct thread *self = thrum__adapt_self;

	if (self && UNLIKELY(atomic_load_explicit(&self->epoll, memory_order_relaxed) != 0))
		thrum__adapt_epoll_leave(self);
}
/* Whether all threads wait for each other while the calling one looks, and it is known who should write to
 * the likely pipe, or there are few. */
bool thrum__adapt_epoll_is_stuck(struct looking *, const struct epoll_need *);
/* Begins the wait for the likely pipe or the arming of a timer, if that was disarmed in vain and no thread
 * holds a lock. Else, if there are several pipes, begins the wait for the likely one, and for the thread that
 * wrote last to it: for that alone if it joins the calling one. If writes to it are recorded, it returns
 * false. */
bool thrum__adapt_epoll_tell(const struct looking *, const struct epoll_need *, struct object *);
/* The same for a single pipe: that a wait is for that thread, and nothing else. */
void thrum__adapt_poll_tell(struct looking *, const struct epoll_need *);
/* Records that a wait for nothing but a timer that isn't armed is for somebody who arms it. */
void thrum__adapt_epoll_tell_timer(const struct looking *, const struct epoll_need *);

/* ---- polled.c ---- */

/* A loop polls descriptors: records for whom it waits, once two looks have seen that all threads and
 * relatives wait for each other. */
void thrum__adapt_polled_look(struct looking *);

#endif
