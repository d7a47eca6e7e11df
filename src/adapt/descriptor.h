/* SPDX-License-Identifier: ISC */
/*
 * descriptor.c: whether a call that uses a descriptor may wait. It is found out at the first call, and
 * forgotten when the descriptor is closed, or its number is given out anew.
 */
#ifndef ADAPT_DESCRIPTOR_H
#define ADAPT_DESCRIPTOR_H

#include "adapt/adapt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>

#define DESCRIPTORS 16384 /* calls that use others are not recorded */
enum descriptor_sort {
	DESCRIPTOR_UNKNOWN,
	DESCRIPTOR_QUICK = 1, /* no call waits for an event: it is a file, or doesn't block */
	DESCRIPTOR_SLOW = 2,  /* a pipe, socket, terminal or the like that blocks */
	DESCRIPTOR_PIPE = 4,  /* with either: an end of a pipe of the program */
	DESCRIPTOR_LOW =
		8, /* with SLOW: a call that receives waits for several bytes: SO_RCVLOWAT */
	DESCRIPTOR_SOCKET = 16 /* with QUICK or SLOW: its peer may be a process of this machine */
};
extern _Atomic uint8_t thrum__adapt_descriptors[DESCRIPTORS];

static inline bool may_wait(int fd)
{
	return is_on(ADAPTER_BLOCK) && (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) !=
		DESCRIPTOR_QUICK;
}

/* Whether a call may wait whose descriptor is known. */
static inline bool may_block(int fd)
{
	return (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) &
		DESCRIPTOR_SLOW;
}

static inline bool is_of_pipe(int fd)
{
	return (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) &
		DESCRIPTOR_PIPE;
}

static inline bool is_socket(int fd)
{
	return (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) &
		DESCRIPTOR_SOCKET;
}

/* Whether a call would wait now for one of these events, as for poll(); 0: for something else that it
 * may have to wait for. Keeps errno. */
bool thrum__adapt_would_wait(int fd, short events);

/* Whether a call that receives may wait though there is something. Keeps errno. */
bool thrum__adapt_waits_for_more(int fd);

/* It may block now, or no longer. */
void thrum__adapt_descriptor_changes(int fd);

/* The numbers first … last mean something else from now on. */
void thrum__adapt_descriptors_forget(unsigned first, unsigned last);

/* Whether one of these poll() events is there. Keeps errno. */
bool thrum__adapt_is_ready(int fd, short events);

/* Writes "VERB pipe 7" or the like. Keeps errno. Async-signal-safe. */
#define CALL_MAX 96
void thrum__adapt_put_call(char to[CALL_MAX], const char *verb, int fd);
/* Writes "VERB NAME" of a file. Returns false if it has no name, or a long one. Both keep errno and are
 * async-signal-safe. */
bool thrum__adapt_put_name(char to[CALL_MAX], const char *verb, int fd);
/* The same, or as thrum__adapt_put_call. */
void thrum__adapt_put_file(char to[CALL_MAX], const char *verb, int fd);

/* ---- pipes.c ---- */

/*
 * A pipe, or one direction of a pair of sockets, both of whose ends the program has, and no other process:
 * so those who write serve those who read, and the other way round. It is known until it is closed, or
 * somebody else may have an end: a child, a duplicate, a stream.
 */

/* A pipe was made, there. */
void thrum__adapt_pipe_made(int from, int to, const char *noun, const void *maker);
/* An end is about to be closed. Only for descriptors that are DESCRIPTOR_PIPE, as all below. */
void thrum__adapt_pipe_closed(int fd);
/* Others may use this end, or all pipes. */
void thrum__adapt_pipe_shared(int fd);
void thrum__adapt_pipes_shared(void);
/* The descriptor of this process whose other end has this inode; -1: none that is open. */
int thrum__adapt_pipe_to(uint64_t inode);
/* Whether others may use the pipe that is read by this descriptor, or written to. */
bool thrum__adapt_pipe_is_shared(int fd, bool writes);
/* Whether it has an end of any such pipe. */
bool thrum__adapt_has_shared(void);
/* In a fork's child: nothing is known of its pipes. */
void thrum__adapt_pipes_left(void);
/* This process uses an end that is written to. */
void thrum__adapt_pipe_use(int fd);
/* The thread that used an end last, or made it; 0: not known. */
uint32_t thrum__adapt_pipe_user(int fd, bool writes);
/* Whether it has used an end, or may have. Also true for descriptors that are no such end. */
bool thrum__adapt_pipe_is_used(int fd, bool writes);
/* Whether it has a pipe from which it may read, as others write, and never did. */
bool thrum__adapt_has_unread(void);
/* Whether something was read from the pipe by this descriptor. */
bool thrum__adapt_pipe_is_read(int fd);
/* Whether a write was recorded to the pipe that is read by this descriptor: so it is known who writes. */
bool thrum__adapt_pipe_is_told(int fd);
/* The number that the pipe's other end had when it was made: the one that writes, or reads; -1: not known. */
int thrum__adapt_pipe_other(int fd, bool writes);
/* The inode of the other socket of a pair; 0: not known. */
uint64_t thrum__adapt_pipe_peer(int fd);
/* Whether there may be any. */
bool thrum__adapt_has_pipes(void);
/* Returns the object for which somebody waits who reads from the descriptor, or writes to it; NULL: it
 * isn't known who has the other end. */
struct object *thrum__adapt_pipe(int fd, bool writes, const void *caller);
/* If somebody has waited for the pipe that is read by a descriptor: its name ends in these words from now on,
 * and in a noun and a place unless the noun is NULL. */
void thrum__adapt_pipe_rename(int fd, const char *words, const char *noun, const void *place);
/* Whether somebody has waited for the pipe to which is written by this descriptor. */
bool thrum__adapt_pipe_is_known(int fd);
/* The task that waits for the pipe to which is written by a descriptor, or NONE. */
thrum_task thrum__adapt_pipe_waiter(int fd);
/* The same for the pipe that is read by a descriptor. */
thrum_task thrum__adapt_pipe_writer(int fd);
/* Record that the running task has read from it, or writes to it, if somebody has waited for the pipe. */
void thrum__adapt_pipe_read(int fd);
void thrum__adapt_pipe_written(int fd);
/* The calling thread has read more than one from an eventfd: then its name says so. Does nothing for other
 * pipes. */
void thrum__adapt_eventfd_read(int fd, uint64_t amount);

/* A pipe may hold tokens, such as of those that may run at a time: a thread takes one by reading a
 * byte, and gives it back. So it is a semaphore. */

/* The calling thread has read so much from it, or is about to write so much. */
void thrum__adapt_pipe_took(int fd, size_t size, const void *caller);
void thrum__adapt_pipe_gives(int fd, size_t size);
/* The semaphore of the pipe that is read by this descriptor: not its address, but as those of
 * permits.c. NULL: it has no tokens. */
const void *thrum__adapt_pipe_tokens(int fd);

/* ---- sockets.c ---- */

/*
 * A connection between two processes of this machine, or two parts of one. Its messages are recorded as those
 * of a link, so that readers of both recordings know who answers whom. Only for descriptors that are
 * DESCRIPTOR_SOCKET. They keep errno, and are async-signal-safe.
 */

/* The running task is about to send by the descriptor. */
void thrum__adapt_socket_send(int fd);
/* It has received; or, while its lane is suspended, it waits for what comes next. */
void thrum__adapt_socket_receive(int fd);
/* Whether a message went over it. */
bool thrum__adapt_socket_is_known(int fd);
/* The running task waits for what comes next. */
void thrum__adapt_socket_wait(struct wait *, int fd, const void *caller);
/* Whether it is a connected Unix socket that nobody has accepted yet. */
bool thrum__adapt_socket_is_queued(int fd);
/* The descriptor is closed. */
void thrum__adapt_socket_forget(unsigned fd);

/* ---- accepts.c ---- */

/* Not 0: the calling thread, or another one, accepts from this socket. */
extern _Atomic uint32_t thrum__adapt_accepters[DESCRIPTORS];
/* The calling thread is about to accept from a socket. */
void thrum__adapt_accepts(int fd);
/* It does so no more. */
void thrum__adapt_accept_over(void);
/* The task of the only thread that accepts from those who connect to an address; or NONE. */
thrum_task thrum__adapt_accepter(const struct sockaddr *, socklen_t);
/* The calling thread waits to read from a socket: while that isn't accepted, it waits for the thread which
 * accepts. Returns when there is something to read, or when it is accepted. Keeps errno. */
void thrum__adapt_accept_wait(struct wait *, const char *verb, int fd);
/* The calling thread is about to close a socket: tells of others that wait to accept from it, as that doesn't
 * wake them. Keeps errno. */
void thrum__adapt_accepts_closed(int fd, const void *caller);

/* ---- limit.c ---- */

/* A call made a descriptor, there. */
void thrum__adapt_limit_made(int fd, const void *maker);
/* A call that accepts has failed with errno, as there is no free descriptor. Keeps errno. */
void thrum__adapt_limit_hit(const void *caller);
/* There is one again. */
void thrum__adapt_limit_left(void);
/* Not 0: there is none. */
extern _Atomic uint64_t thrum__adapt_limit_task;
static inline void leave_limit(void)
{
	if (UNLIKELY(atomic_load_explicit(&thrum__adapt_limit_task, memory_order_relaxed) != 0))
		thrum__adapt_limit_left();
}

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

/* ---- control.c ---- */

/* The same for a lock of fcntl() with that range. */
void thrum__adapt_file_lock_wait(struct wait *, const void *caller, int fd, const struct flock *);

/* ---- lock_file.c ---- */

/* A call has made a file that must not exist before, with this descriptor; or failed with errno (-1). Keeps
 * errno. Async-signal-safe, unless it begins the recording. */
void thrum__adapt_lock_file(int folder, const char *path, int fd, const void *caller);
/* A call has opened a file that may have existed before, or removed one. Keeps errno. Async-signal-safe. */
void thrum__adapt_lock_file_used(int folder, const char *path);

/* ---- open.c ---- */

/* Called when a thread is about to open a FIFO, and when it has done so, if the first call returned true.
 * NULL: nobody wants to know. */
extern bool (*_Atomic thrum__adapt_opens_also)(const void *caller, bool begins);

/* ---- ends.c ---- */

/* A thread waits for a pipe to read from it, or to write to it. */
enum side {
	SIDE_READS,
	SIDE_WRITES,
	SIDE_TRIED /* it writes so little that all of it is written at once, which has been tried */
};

/*
 * The running task waits for a descriptor: a task of this kind, which ends with the wait. For a pipe
 * that others have, too, returns once it need not wait any more, or might see a signal that the call
 * itself should see, and records meanwhile who has the other end. Keeps errno. Async-signal-safe.
 */
void thrum__adapt_ends_wait(struct wait *, enum thrum_kind, const char *verb, int fd, enum side,
	const void *caller);

/* Makes a new descriptor one of this library: if there are other threads, its number becomes a high one, so
 * that they get theirs as ever. Returns it, or -1 if there is none or no room. */
int thrum__adapt_hide(long low, bool is_single);

/* The wait for a child is recorded, or for any if that isn't positive: looks whether it waits for
 * this process, or all do. */
void thrum__adapt_child_wait(struct wait *, const char *label, pid_t);

/* The running task waits for a pipe whose both ends this process alone has. Says so while the program has no
 * signal handlers, which might use the pipe. Returns as ends_wait does, or true once others may have an
 * end. */
bool thrum__adapt_own_wait(struct wait *, int fd, enum side);

/* Returns a signal's handler, or NULL. May change errno. */
const void *thrum__adapt_handler(int number);
/* Finds the signals that have handlers, and those of them that end a call which waits. */
void thrum__adapt_find_handlers(sigset_t *handled, sigset_t *ending);

/* Whether the program has a handler for any signal. */
bool thrum__adapt_has_handlers(void);

/* Whether it has one that ends a call which waits. */
bool thrum__adapt_may_interrupt(void);

/* ---- told_ends.c ---- */

/* Names a process, and where it was started. Returns the place behind it. Room: PROCESS_TEXT and
 * PLACE_MAX. */
char *thrum__adapt_put_process(char *to, pid_t);
/* Writes where a process was started, if that is known. Returns the place behind it. Room: PLACE_MAX. */
char *thrum__adapt_put_starter(char *to, pid_t);
/* Writes a signal's name. Returns the place behind it. */
char *thrum__adapt_put_signal(char *to, int number);

/* ---- children.c ---- */

/* The calling thread took a child that had ended, there. is_quick: by a call that never waits; else the
 * call waited for `process` alone, or for any (-1). */
void thrum__adapt_child_taken(pid_t child, pid_t process, bool is_quick, const void *caller);
/* Other code takes its own children. */
void thrum__adapt_children_divided(void);
/* The calling thread waits for the signal of a child's end. If the program has taken children, none is left
 * and no other thread may start one, returns a task that tells it; else NONE. */
thrum_task thrum__adapt_children_none(const void *caller);
/* Whether a child has ended, or any if `process` isn't positive, and nobody has taken it: 1 if so, 0 if
 * not, -1 if there is no such child. Tells of it. Changes errno. */
int thrum__adapt_child_ended(pid_t process, siginfo_t *told);
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

/* ---- streams.c ---- */

/* A stream of the C library (FILE) reads from a descriptor. */
void thrum__adapt_stream_reads(void *stream, int fd);
/* Whether it has read a line that the program hasn't taken, and there is no more to read. Keeps errno. */
bool thrum__adapt_stream_has_line(int fd);

/* ---- vain.c ---- */

/* Whether all other threads of this process wait for as long as it takes. */
bool thrum__adapt_others_sleep(void);

/* ---- signals.c ---- */

/* A wait to read from a descriptor begins. If it is a signalfd that tells of children, returns when there is
 * something to read, or nothing more to look for. Keeps errno. */
void thrum__adapt_signals_wait(struct wait *, int fd, const void *caller);

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

/* ---- look.c ---- */

/*
 * Threads that are about to wait for events or signals look from time to time what they missed:
 * children that ended, watches that are not armed again. So do waits without a time limit. Only what is
 * seen for LOOK_TWICE is recorded.
 */
#define LOOK_FIRST 50        /* ms between looks; within a wait, each time is twice as long */
#define LOOK_LAST 1600       /* ms: the longest */
#define LOOK_TWICE 100000000 /* ns */
#define LOOK_FEW 2           /* pipes that are waited for as if each were the only one */
struct looking {
	struct wait *wait;
	const void *caller;
	struct thrum_tag *reason;
	int epoll;  /* it waits for its events; -1: for others */
	int stream; /* it waits for this descriptor, of which it has a line; -1: for others */
	bool is_for_others; /* these come from more than pipes of the program */
	bool is_told;       /* it waits for the signal that children end */
	int pause;          /* ms until the next look */
	thrum_task told;
	uint64_t stuck; /* not 0: all threads waited for each other in the look before */
	bool is_stuck;  /* two looks have seen that */
};
/* Whether there was a handler shortly before. Once there is one, there may be one at any time. Keeps
 * errno. */
bool thrum__adapt_had_handlers(void);
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

/* ---- epolls.c ---- */

/* The pipes of which an epoll tells. -1: there is none. */
struct epoll_need {
	int first, likely; /* likely: to which another thread wrote last, if there is one */
	int timer;         /* that isn't armed; the last of them */
	unsigned count, timers;
};
/* Finds for which pipes an epoll waits. Returns false if it waits for more than these and timers that aren't
 * armed, or for very many. */
bool thrum__adapt_epoll_need(int epoll, struct epoll_need *);
/* The calling thread doesn't wait for events of an epoll, or a new wait is about to begin. */
void thrum__adapt_epoll_waits(void);
/* Whether all threads wait for each other while the calling one looks, and it is known who should write to
 * the likely pipe, or there are few. */
bool thrum__adapt_epoll_is_stuck(struct looking *, const struct epoll_need *);
/* If there are several pipes, records that a wait is for the thread that wrote last to the likely one, unless
 * writes to it are recorded. */
void thrum__adapt_epoll_tell(struct wait *, const struct epoll_need *);

/* Records that a wait for nothing but a timer that isn't armed is for somebody who arms it. */
void thrum__adapt_epoll_tell_timer(const struct looking *, const struct epoll_need *);

/* ---- timers.c ---- */

/* Whether the program has made a timer that is a descriptor. */
bool thrum__adapt_has_timers(void);
/* Whether this process made a timer, and has sent no descriptors to others since. */
bool thrum__adapt_timer_is_own(int fd);
/* Other processes may have got descriptors. */
void thrum__adapt_timers_shared(void);
/* Writes "arming of timerfd 5, last armed by PLACE", or the like. Keeps errno. */
void thrum__adapt_put_timer(char to[CALL_MAX + PLACE_MAX], int fd);

/* ---- start.c ---- */

/* The call that started a child, if it is known; else NULL. Async-signal-safe. */
const void *thrum__adapt_started_at(pid_t);
/* Whether the child may have got locks by fork that threads of this process held. Async-signal-safe. */
bool thrum__adapt_got_held(pid_t);

#endif
