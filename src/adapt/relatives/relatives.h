/* SPDX-License-Identifier: ISC */
/*
 * relatives/: who else has what a thread waits for. These are mostly relatives of this process: its parent,
 * its children, theirs. /proc tells for what they wait themselves.
 *
 *   ends.c held_ends.c     who else has an end of a pipe
 *   spare_ends.c           children that got both ends of a pipe, and need neither
 *   vain.c                 for what other processes wait
 *   stuck.c epolls.c polled.c   relatives and threads that all wait for each other
 *   told_ends.c            records what was found
 *   needs.c                who could end waits for the kernel's semaphores and queues, or in shared memory
 *   held.c                 who has permits of semaphores that processes share
 *   files.c file_owner.c   locks of files
 *   lock_file.c            files that are locks
 *   children.c             children that ended and are not waited for
 *   sent.c                 signals that came too soon
 *   unheard.c              signals that should end a child, and don't
 */
#ifndef ADAPT_RELATIVES_H
#define ADAPT_RELATIVES_H

#include "adapt/base/naps.h"
#include "adapt/descriptor/descriptor.h"

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

/*
 * The running task waits for a descriptor: a task of this kind, which ends with the wait. For a pipe
 * that others have, too, returns once it need not wait any more, or might see a signal that the call
 * itself should see, and records meanwhile who has the other end. Keeps errno. Async-signal-safe.
 */
void thrum__adapt_ends_wait(struct wait *, enum thrum_kind, const char *verb, int fd, enum side,
	const void *caller);

/* The wait for a child is recorded, or for any if that isn't positive: looks whether it waits for
 * this process, or all do. Returns whether a handler ran that ends the call: then errno is EINTR, else
 * unchanged. */
bool thrum__adapt_child_wait(struct wait *, const char *label, pid_t);

/* The running task waits for a pipe whose both ends this process alone has. Says so while the program has no
 * signal handlers, which might use the pipe. Returns as ends_wait does, or true once others may have an
 * end. */
bool thrum__adapt_own_wait(struct wait *, int fd, enum side);

/* ---- vain.c ---- */

/* Whether all other threads of this process wait for as long as it takes. */
bool thrum__adapt_others_sleep(void);
/* The same, but some of them may only nap, again and again. */
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

/* ---- lock_file.c ---- */

/* A call has made a file that must not exist before, with this descriptor; or failed with errno (-1). Keeps
 * errno. Async-signal-safe, unless it begins the recording. */
void thrum__adapt_lock_file(int folder, const char *path, int fd, const void *caller);
/* A call has opened a file that may have existed before, or removed one. Keeps errno. Async-signal-safe. */
void thrum__adapt_lock_file_used(int folder, const char *path);

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
 * and no other thread may start one, returns a task that tells it; else NONE. */
thrum_task thrum__adapt_children_none(const void *caller);
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
/* Begins the recording of a program that waits for children which it forked, and which run no other program:
 * they may hang. Returns whether it did. Keeps errno. */
bool thrum__adapt_children_begin(void);
/* The same once such a wait lasts: it waits for a while itself, where nothing is recorded yet.
 * `process` is the child, or not positive for any. Returns whether a handler ran that ends the
 * call, with errno EINTR. */
bool thrum__adapt_children_interrupt(pid_t process);
/* Signals with handlers that the only thread holds back while it looks, so that none is missed that ends its
 * call. `fd` tells when one comes. */
struct held_signals {
	sigset_t before, signals;
	int fd; /* -1: there is none */
};
void thrum__adapt_children_hold(struct held_signals *);
enum thrum__adapt_came {
	CAME_NONE,
	CAME_ONE,
	CAME_ENDING /* its handler ends a call */
};
/* Their handlers run now, if any came. is_over: the call ends without them. */
enum thrum__adapt_came thrum__adapt_children_release(struct held_signals *, bool is_over);

/* ---- sent.c ---- */

/* The calling thread is about to wait for a signal's handler, or has waited. */
void thrum__adapt_sent_begin(void);
void thrum__adapt_sent_over(void);
/* The same, if it is recorded; with these signals held back, NULL: as now. If the only signal that may
 * come seems to have come before, it waits and looks, and returns true once a handler has run. Then
 * errno is EINTR, else unchanged. */
bool thrum__adapt_sent_wait(struct wait *, const sigset_t *mask, const void *caller);
/* Returns a task that tells of a signal of this set which came during the calling thread's wait for it, since
 * that time of CLOCK_MONOTONIC, and which another thread has taken by its handler; NONE: there is none. */
thrum_task thrum__adapt_sent_taken(const sigset_t *set, int64_t wait, const void *caller);

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
	const void *runner; /* of the loop that polls them, by is_loop */
	bool is_endless;    /* it has no time limit */
	bool is_outside;    /* others than the program may end it */
	bool is_timed;      /* it ends at a time that is set */
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
void thrum__adapt_epoll_waits(void);
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
