/* SPDX-License-Identifier: ISC */
/*
 * look/: threads that look what they missed.
 *
 *   look.c    long waits that look
 *   watch.c   watches of epoll that are not armed again
 *   edges.c   watches that tell of new data only
 *   stopped.c watches that ask for data no more
 *   rounds.c  others that go on while something is left
 *   spins.c   loops that spin
 *   removed.c descriptors that nobody watches any more
 *   unseen.c  items that nobody takes from a queue
 *   unsent.c  rests that nobody sends
 *   unanswered.c  ends of connections that nobody answers
 *   twice.c   descriptors that were closed twice
 *   rearm.c   timers that nobody arms again
 *   timers.c  timers of loops that were stopped
 *   others.c  what all other threads wait for
 */
#ifndef ADAPT_LOOK_H
#define ADAPT_LOOK_H

#include "adapt/base/handover.h"
#include "adapt/ends/waits.h"

#include <sys/epoll.h>

/* ---- look.c ---- */

/*
 * Threads that are about to wait for events or signals look from time to time what they missed:
 * children that ended, watches that are not armed again. So do waits without a time limit. Only what is
 * seen for LOOK_TWICE is recorded.
 */

/* The thread is about to wait. Keeps errno. */
void thrum__adapt_look_before(struct looking *);
/* A thread that waits for events of an epoll, and looks, calls this, too. is_waiting: it waits already, and
 * without a time limit. That returns a task for which the thread should wait, or NONE. */
typedef thrum_task also_look(int epoll, bool is_waiting);
void thrum__adapt_look_also(also_look *);
/* Makes a task that nobody ends, and for which the waiter waits, unless that is NONE. Returns it. */
thrum_task thrum__adapt_look_tell(const char *label, const void *caller, thrum_task waiter);
/* libuv has streams that were stopped. It removes their watches itself, and its part looks at them. */
extern _Atomic bool thrum__adapt_stops_streams;
/* Called when the calling thread polls a pipe of the program alone, and nothing can come: returns the task of
 * something that is missing, for which it waits, or NONE. NULL: nobody knows. */
extern __thread thrum_task (*thrum__adapt_loop_tells)(void)
	__attribute__((tls_model("initial-exec")));
/* The same, whether or not anything can come: the loop was quit in vain. */
extern __thread thrum_task (*thrum__adapt_loop_lost)(void)
	__attribute__((tls_model("initial-exec")));
/* The same while it waits by epoll, and nothing can come: a loop may have been broken in vain. */
extern __thread thrum_task (*thrum__adapt_broken_tells)(void)
	__attribute__((tls_model("initial-exec")));
/* The running task has told for what it waits, while the thread polls. */
extern __thread bool thrum__adapt_is_told __attribute__((tls_model("initial-exec")));
/* The place at which the program runs that loop. */
extern __thread const void *thrum__adapt_loop_runner __attribute__((tls_model("initial-exec")));
/* Whether a library polls there in a thread of its own, whose loop no code of the program runs. NULL: none
 * does. */
extern bool (*_Atomic thrum__adapt_polls_own)(const void *caller);
/* Called when a thread waits by epoll for a pipe of the program: may rename it. NULL: nobody does. */
extern void (*_Atomic thrum__adapt_names_also)(int fd);
/* Whether a wait may look: there is something to look for, and no signal's handler that might end the
 * call. Keeps errno. */
bool thrum__adapt_looks(const struct looking *);
/* Looks during the wait, which begins anew if that tells for what it waits. Returns whether it may look
 * again. Keeps errno. */
bool thrum__adapt_look(struct looking *);
/* The same during a wait whose record stays: only for what thrum__adapt_looks_aside says. */
bool thrum__adapt_look_aside(struct looking *);
/* Whether a watch was removed, or may be. */
bool thrum__adapt_has_removed(void);
/* Which other threads only nap, as all looks of the calling thread have seen in which it asked. Costs
 * O(threads). */
const struct naps *thrum__adapt_look_naps(void);
/* Looks for sources of the loop that are gone. NULL: there are none. */
extern void (*_Atomic thrum__adapt_looks_gone)(const struct looking *);
/* Looks for an event that doesn't wake the calling thread's loop; or NULL. */
extern __thread void (*thrum__adapt_looks_active)(void) __attribute__((tls_model("initial-exec")));
/* Whether there may be data or a rest that nobody takes, a source that is gone, or an event that wakes
 * nobody: see removed.c and unsent.c. */
static inline bool thrum__adapt_has_left(void)
{
	return thrum__adapt_unsent_used() > 0 || has_unanswered() || thrum__adapt_has_removed() ||
		thrum__adapt_has_unseen() || thrum__adapt_looks_active ||
		(thrum__adapt_loop_tells &&
			atomic_load_explicit(&thrum__adapt_looks_gone, memory_order_relaxed));
}
/* Whether a wait whose record stays looks at what it polls. */
static inline bool thrum__adapt_looks_at_polled(const struct looking *looking)
{
	return looking->unwritten >= 0 || looking->alone >= 0 || looking->is_loop;
}
/* Whether a wait may look though its record stays. */
static inline bool thrum__adapt_looks_aside(const struct looking *looking)
{
	return thrum__adapt_has_left() || thrum__adapt_looks_at_polled(looking);
}
/* Whether that wait may, as no signal's handler might end the call. Keeps errno. */
bool thrum__adapt_may_look_aside(const struct looking *);
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
/* Whether an epoll will tell that there is room to write; with EPOLLET, not if it has told it since the
 * latest of so many writes that fell short, and the thread that was told has gone on. */
bool thrum__adapt_watch_asks_room(int fd, uint32_t times);
/* Bits: from where all may come for which epolls were asked. */
unsigned thrum__adapt_watch_origins(void);
/* The calling thread is about to wait for events. */
void thrum__adapt_watch_turn(void);
/* It got this event. Returns its descriptor, or -1. */
int thrum__adapt_watch_told(const struct epoll_event *);
/* The epoll with which a descriptor was registered last, and for which events; -1: none. */
int thrum__adapt_watch_epoll(int fd, uint32_t *events);
/* When a descriptor was watched first since it was opened, by rough_time; 0: it wasn't. */
int64_t thrum__adapt_watch_began(int fd);
/* The descriptor of an event, or -1. */
int thrum__adapt_watch_of(const struct epoll_event *);
/* These descriptors are about to be closed. */
void thrum__adapt_watches_forget(unsigned first, unsigned last);
/* In a fork's child: no thread was told of any. */
void thrum__adapt_watches_left(void);
/* The bytes that can be read; 1 for connections that can be accepted; 0 where they can't be counted, such as
 * at a timer; -1: there is nothing, or just an end. May change errno. */
int thrum__adapt_unread(int fd);
/* Looks for descriptors that have data of which no thread is told, as their watches are not armed
 * again, or tell of new data only, and records those that are seen for some time. The thread waits at
 * `waits_at`. Returns the task of one of this epoll, or NONE. */
thrum_task thrum__adapt_watches_look(int epoll, const void *waits_at);

/* Whether the calling thread was told of a descriptor in this turn of its loop: 1, or 0; -1: it isn't watched
 * for new data only, or nobody was told yet. */
int thrum__adapt_watch_in_turn(int fd);

/* ---- edges.c ---- */

/* There are watches that tell of new data only. */
extern _Atomic bool thrum__adapt_are_edges;
/* The calling thread reads, or has tried to read, from a descriptor. */
void thrum__adapt_edge_read(int fd);
/* Whether the rest of such a socket's data is left for good since a time, and seen since then, though
 * others go on. turns: of the loop, meanwhile. Sets the task that waits for an answer; NONE: it is in
 * another process. */
bool thrum__adapt_edge_is_left(int fd, int64_t at, int64_t since, uint32_t turns,
	thrum_task *waiter);

/* Whether nobody is about to read what is left of a socket. From other descriptors, such as a pipe that only
 * wakes a loop, it need not be read. */
bool thrum__adapt_edge_may_tell(int fd);
/* Makes the task that tells of it. accepter: who accepted from it last, or NULL. */
thrum_task thrum__adapt_edge_make(int fd, bool is_beside, const void *accepter,
	const void *waits_at);

/* ---- rounds.c ---- */

/* Whether a descriptor's data is left since a time though others go on: its other end waits as long as it
 * takes, and nobody works, as looks see since `since`. To be called again and again; O(threads of all
 * relatives). goes_on: it is known that others go on; else one of them has to nap. Sets the task that
 * waits for the other end; NONE: it is in another process. */
bool thrum__adapt_rounds_are_idle(int fd, int64_t at, int64_t since, bool goes_on,
	thrum_task *waiter);

/* Whether one of the others napped, after that was so. */
bool thrum__adapt_rounds_nap(int fd);

/* These words in the label of a task say so, behind the descriptor. */
#define BESIDE " while others go on"

/* ---- removed.c ---- */

/* Watches of data that were removed, though the descriptor stays open. */

/* The calling thread is about to wait for events. */
void thrum__adapt_removed_turn(void);
/* An epoll is asked for data of a descriptor, or no longer, there. */
void thrum__adapt_removed_epoll(int fd, bool is_watched, struct place);
/* This is the callback of an event of a library, which waits for data of a descriptor. */
void thrum__adapt_removed_event(int fd, const void *callback);
/* The callback of the latest such event of a descriptor, which a library watches in that place; NULL: there
 * is none, or the program itself watches there. */
const void *thrum__adapt_removed_callback(int fd, const void *place);
/* A bufferevent of libevent was told, there, to read no more of this descriptor, or a listener to accept no
 * more from it; NULL: to go on. */
void thrum__adapt_removed_disabled(int fd, const void *caller);
/* A time-out of a bufferevent has told it so, and this callback of the program is about to hear of it. */
void thrum__adapt_removed_timed_out(int fd, const void *callback);
/* A bufferevent that was never enabled for reading this descriptor got a callback for data, there; NULL:
 * it is enabled now, or gone. */
void thrum__adapt_removed_unread(int fd, const void *caller);
/* Where it was told so; NULL: it goes on. */
const void *thrum__adapt_removed_disabler(int fd);
/* Returns how many bytes the bufferevent of a descriptor holds, if it reads no more. NULL: none does. */
extern int (*_Atomic thrum__adapt_removed_held)(int fd);
/* A source of GLib waits for data of a descriptor. Returns a number for its end. */
uint32_t thrum__adapt_removed_source(int fd);
/* It ends. The callback may be NULL. */
void thrum__adapt_removed_source_end(int fd, uint32_t number, const void *callback);
/* It ends, and waited for the data of a read of GIO with that callback. */
void thrum__adapt_removed_read_end(int fd, uint32_t number, const void *callback);
/* It is not called until this loop ends, which its callback runs, there; then it is again. */
void thrum__adapt_removed_block(int fd, uint32_t number, const void *callback, thrum_task loop,
	const void *runner);
void thrum__adapt_removed_unblock(int fd, uint32_t number);
/* These descriptors are about to be closed. */
void thrum__adapt_removed_forget(unsigned first, unsigned last);
/* In a fork's child: none was removed. */
void thrum__adapt_removed_left(void);
/* Until so many ns, a timer may be about to go on; the second one is for a loop none of whose timers came. */
#define LOOK_TIMED INT64_C(1100000000)
#define LOOK_UNTIMED INT64_C(10000000000)
static inline uint32_t thrum__adapt_loops_of(const struct thread *thread)
{
	return thread ? atomic_load_explicit(&thread->loops, memory_order_relaxed) : 0;
}
/* Whether a timer of this thread's loop may be about to go on with what was left for so many ns. loops: as it
 * was seen first. */
static inline bool thrum__adapt_timer_may_go_on(const struct thread *thread, uint32_t loops,
	int64_t age)
{
	return age < LOOK_TIMED || (age < LOOK_UNTIMED && thrum__adapt_loops_of(thread) == loops);
}
/* Looks for descriptors with data that nobody watches any more, while somebody waits for the other end.
 * Returns the task of one that the calling thread removed, or NONE. */
thrum_task thrum__adapt_removed_look(const struct looking *);

/* ---- unsent.c ---- */

/* Looks for writes that fell short, and that nobody will complete though there has been room for long, while
 * somebody waits for the rest. Returns the task of one, for which the calling thread should wait; or
 * NONE. */
thrum_task thrum__adapt_unsent_look(const struct looking *);

/* ---- unseen.c ---- */

/* Looks for items that lie unseen in a queue of the calling thread's loop, while somebody waits for the
 * loop. */
void thrum__adapt_unseen_look(void);

/* ---- unanswered.c ---- */

/* Looks for ends that are not answered yet. */
void thrum__adapt_unanswered_look(void);
/* In a fork's child: there are none. */
void thrum__adapt_unanswered_left(void);

/* ---- twice.c ---- */

/* The calling thread has registered a descriptor with an epoll; or it takes that back. */
void thrum__adapt_twice_watched(int fd);
void thrum__adapt_twice_unwatched(int fd);
/* There is another descriptor for the same. */
void thrum__adapt_twice_doubled(int fd);
/* A descriptor is about to be closed, there. Keeps errno. Async-signal-safe. */
void thrum__adapt_twice_closed(int fd, const void *caller);
/* In a fork's child: none was closed. */
void thrum__adapt_twice_left(void);
/* Whether a thread has closed a number twice, or may do so. */
extern _Atomic bool thrum__adapt_may_close_twice;
/* Looks whether the calling thread waits in vain for a descriptor that another one closed by mistake. Returns
 * a task that tells it, or NONE. */
thrum_task thrum__adapt_twice_look(const struct looking *);

/* ---- rearm.c ---- */

/* Timers (timerfd) in whose turns alone a condition is signalled, and that nobody arms again. */

/* The calling thread was told of these events. Only for programs that have such timers. */
void thrum__adapt_rearm_told(const struct epoll_event *, int count);
/* It signals a condition. */
void thrum__adapt_rearm_signalled(const void *condition);
/* Whether there are such timers. */
bool thrum__adapt_has_rearmed(void);
/* Looks whether one isn't armed again, and records that those wait for it that wait for its condition. */
void thrum__adapt_rearm_look(const struct looking *);
/* The calling thread is about to read from a timer, there: returns when that has come; or once nothing more
 * can be found out, as then the thread waits for its arming. Keeps errno. */
void thrum__adapt_rearm_wait(struct wait *, int fd, const void *caller);

/* ---- timers.c ---- */

/* A timer of a library's loop has come, with the program's callback; it is started; it is stopped there
 * before it came; it is no more. */
void thrum__adapt_loop_timer_came(const void *timer, const void *callback);
void thrum__adapt_loop_timer_started(const void *timer);
void thrum__adapt_loop_timer_stopped(const void *timer, const void *caller);
/* It was to be started again there, but has no interval, so that nothing happened. */
void thrum__adapt_loop_timer_vain(const void *timer, const void *caller);
void thrum__adapt_loop_timer_gone(const void *timer);
/* The calling thread waits in its loop, and nothing can come. Makes a task for a timer that was stopped just
 * before, or returns NONE. */
thrum_task thrum__adapt_timers_tell(void);

/* ---- others.c ---- */

/* Where that may come from for which threads wait. */
enum origin {
	FROM_INSIDE = 0, /* a pipe of the program, or a connection both of whose ends it has */
	FROM_TIMER = 1,
	FROM_DOOR = 2,   /* a socket that listens */
	FROM_OUTSIDE = 4 /* or that isn't known */
};
enum origin thrum__adapt_origin(int fd);
/* The descriptor of this process that is the other end of a pipe or connection; -1: none is known. */
int thrum__adapt_others_peer(int fd);

/* The other threads, for one descriptor. */
struct others {
	int fd;
	short event;  /* POLLIN or POLLOUT */
	bool is_door; /* it listens: its other ends are all that wait in its queue */
	/* These are found out: */
	int peer;        /* its other end, in this process */
	bool is_awake;   /* one doesn't wait, or has a time limit */
	bool is_watched; /* one waits for that event, or may do so */
	unsigned
		origins; /* bits: from where anything may come that the program's threads wait for */
	thrum_task waiter; /* for the other end; or NONE */
	/* One waits for anything else than data of a pipe or connection of the program, or a thread's end. */
	bool waits_for_more;
	bool may_have_children; /* for whose ends threads may wait */
};
/* Looks at all other threads while the calling one is about to wait. Returns whether all of them sleep, one
 * waits for the other end, nobody waits for the event, and the program has no child that might have the
 * descriptor, too. */
bool thrum__adapt_others_look(struct others *, const struct looking *);
/* The same, but looks a few times if one is awake: it may just look itself, as those that began to wait
 * together do. */
bool thrum__adapt_others_settle(struct others *, const struct looking *);
/* Whether all of them sleep, and nothing but timers comes for any thread: nothing from outside, no
 * connection, and the program has no child. */
bool thrum__adapt_others_rest(const struct looking *);
/* The same, whatever children it has. */
bool thrum__adapt_others_rest_beside(const struct looking *);
/* The same, but anything may come from these origins. */
bool thrum__adapt_others_rest_but(const struct looking *, unsigned origins);
/* The wait of the thread that waits to read from a descriptor, as long as it takes, in a process without a
 * child that might have the descriptor, too. Sets *tid to the thread. NONE: there is none. */
thrum_task thrum__adapt_others_reader(int fd, uint32_t *tid);

/* ---- stopped.c ---- */

/* A watch is about to be made or changed, and then asks for these events. The call may be anywhere. */
void thrum__adapt_stopped_note(int epoll, int operation, int fd, uint32_t events, struct place);
/* Whether the watch of a descriptor was changed so that it asks for data no more. For any below FDS_MAX. */
bool thrum__adapt_stopped_has(int fd);
/* It is no more. */
void thrum__adapt_stopped_over(int fd);
/* In a fork's child: its parent tells. */
void thrum__adapt_stopped_left(void);
/* Waits for a moment: other threads that look from time to time may do so just now. */
void thrum__adapt_look_settle(void);

/* ---- spins.c ---- */

/* The calling thread was told of so many events. Returns whether it is the same one again, so that no more is
 * to be told of it. Records that the thread waits for its end, once that lasts. Keeps errno. */
bool thrum__adapt_spin_told(const struct epoll_event *, int count, const void *caller);
/* Whether that has to be called: the last event was a hang-up, or one may be. */
static inline bool thrum__adapt_may_spin(const struct epoll_event *event, int count)
{
	const struct thread *self = thrum__adapt_self;

	return self && (self->spin.count > 0 || (count == 1 && event->events & EPOLLHUP));
}
/* The same for poll(), which told of so many descriptors. */
bool thrum__adapt_spin_polled(const struct pollfd *, unsigned long count, int told,
	const void *caller);
#define SPINS 1000 /* so many times in a row */
/* Whether it was so the last times. */
static inline bool thrum__adapt_spin_goes_on(void)
{
	const struct thread *self = thrum__adapt_self;

	return self && self->spin.count >= SPINS;
}
/* It spins no more. */
void thrum__adapt_spin_end(struct spin *);

#endif
