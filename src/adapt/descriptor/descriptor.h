/* SPDX-License-Identifier: ISC */
/*
 * descriptor/: what is known of the program's descriptors.
 *
 *   descriptor.c   whether a call that uses one may wait, and their names
 *   pipes.c        pipes whose both ends the program has
 *   sockets.c      messages to other processes of the machine
 *   datagrams.c    the same of sockets that aren't connected
 *   tcp_peers.c    who has the other end of a TCP connection
 *   users.c        which of them the process has used
 *   streams.c      lines that streams of the C library have read
 *   timers.c       who armed timers
 *   unsent.c       writes that fell short
 *   accepters.c    the threads that accept from sockets
 *   connections.c  connections of the program to itself
 *   limit.c        programs that have as many as they may have
 */
#ifndef ADAPT_DESCRIPTOR_H
#define ADAPT_DESCRIPTOR_H

#include "adapt/base/base.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>

/* ---- descriptor.c ---- */

/* Whether a call that uses a descriptor may wait is found out at the first call, and forgotten when the
 * descriptor is closed, or its number is given out anew. */
#define DESCRIPTORS 16384 /* calls that use others are not recorded */
/* Notes that take more room are of the descriptors below this one: few programs have more. */
#define FDS_MAX 1024
enum descriptor_sort {
	DESCRIPTOR_UNKNOWN,
	DESCRIPTOR_QUICK = 1, /* no call waits for an event: it is a file, or doesn't block */
	DESCRIPTOR_SLOW = 2,  /* a pipe, socket, terminal or the like that blocks */
	DESCRIPTOR_PIPE = 4,  /* with either: an end of a pipe of the program */
	DESCRIPTOR_LOW =
		8, /* with SLOW: a call that receives waits for several bytes: SO_RCVLOWAT */
	DESCRIPTOR_SOCKET = 16,  /* with QUICK or SLOW: its peer may be a process of this machine */
	DESCRIPTOR_FULL = 32,    /* a write fell short: see unsent.c */
	DESCRIPTOR_OUTSIDE = 64, /* an epoll that tells of what others than the program do */
	DESCRIPTOR_TOKENS = 128  /* an end of a pipe that others have, too: see tokens.c */
};
extern _Atomic uint8_t thrum__adapt_descriptors[DESCRIPTORS];

static inline bool may_wait(int fd)
{
	return is_on(ADAPTER_BLOCK) && (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) !=
		DESCRIPTOR_QUICK;
}

static inline bool is_of_sort(int fd, enum descriptor_sort sort)
{
	return (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) & sort;
}

/* Whether a call may wait whose descriptor is known. */
static inline bool may_block(int fd)
{
	return is_of_sort(fd, DESCRIPTOR_SLOW);
}

/* Whether data lies unread in a descriptor; not whether a connection waits to be accepted. */
bool thrum__adapt_has_data(int fd);

static inline bool is_of_pipe(int fd)
{
	return is_of_sort(fd, DESCRIPTOR_PIPE);
}

static inline bool is_socket(int fd)
{
	return is_of_sort(fd, DESCRIPTOR_SOCKET);
}

static inline bool is_full(int fd)
{
	return is_of_sort(fd, DESCRIPTOR_FULL);
}

static inline bool is_of_tokens(int fd)
{
	return is_of_sort(fd, DESCRIPTOR_TOKENS);
}

/* Whether a call would wait now for one of these events, as for poll(); 0: for something else that it
 * may have to wait for. Keeps errno. */
bool thrum__adapt_find_wait(int fd, short events);
static inline bool thrum__adapt_would_wait(int fd, short events)
{
	uint8_t sort = atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed);

	return (sort & (DESCRIPTOR_QUICK | DESCRIPTOR_SLOW)) != DESCRIPTOR_QUICK &&
		thrum__adapt_find_wait(fd, events);
}

/* Finds out what a descriptor is, unless that is known. Keeps errno. */
static inline void thrum__adapt_descriptor_learn(int fd)
{
	if (UNLIKELY(!is_of_sort(fd, DESCRIPTOR_QUICK | DESCRIPTOR_SLOW)))
		thrum__adapt_find_wait(fd, 0);
}

/* Whether a call that receives may wait, but only if there is nothing. Keeps errno. */
static inline bool thrum__adapt_waits_for_any(int fd)
{
	thrum__adapt_descriptor_learn(fd);
	return may_block(fd) && !is_of_sort(fd, DESCRIPTOR_LOW);
}

/* It may block now, or no longer. */
void thrum__adapt_descriptor_changes(int fd);
/* The same, as this process tells it not to block (is_quick), or to block. */
void thrum__adapt_descriptor_told(int fd, bool is_quick);
/* A descriptor below DESCRIPTORS is closed. */
void thrum__adapt_descriptor_untold(int fd);
/* Whether it blocks, though this process told it not to: so did another one, or by a duplicate. Changes
 * errno. */
bool thrum__adapt_is_changed(int fd);

/* Whether others than the program may have an event for a descriptor: it is neither a pipe that only the
 * program has, nor a timer. */
bool thrum__adapt_is_outside(int fd);
/* An epoll is asked for events of a descriptor. */
void thrum__adapt_epoll_asks(int epoll, int fd);
/* Whether it was asked for one of those. */
bool thrum__adapt_epoll_is_outside(int epoll);

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

/* Makes a new descriptor one of this library: if there are other threads, its number becomes a high one, so
 * that they get theirs as ever. Returns it, or -1 if there is none or no room. */
int thrum__adapt_hide(long low, bool is_single);

/* ---- pipes.c ---- */

/*
 * A pipe, or one direction of a pair of sockets, both of whose ends the program has, and no other process:
 * so those who write serve those who read, and the other way round. It is known until it is closed, or
 * somebody else may have an end: a child, a duplicate, a stream.
 */

/* A pipe was made, there. */
void thrum__adapt_pipe_made(int from, int to, const char *noun, const void *maker);
/* Two sockets that are connected to each other are one from now on. They may have been used before. */
void thrum__adapt_pipe_joined(int one, int other, const void *maker);
/* An end is about to be closed. Only for descriptors that are DESCRIPTOR_PIPE, as all below. */
void thrum__adapt_pipe_closed(int fd);
/* Others may use this end, or all pipes. */
void thrum__adapt_pipe_shared(int fd);
void thrum__adapt_pipes_shared(void);
/* A library is about to start a process for the calling thread, or has done so. It does nothing in the child
 * but execute a program: so the child gets no pipe whose ends are closed by that. */
void thrum__adapt_pipes_spawn(bool begins);
/* The descriptor of this process whose other end has this inode; -1: none that is open. */
int thrum__adapt_pipe_to(uint64_t inode);
/* Whether others may use the pipe that is read by this descriptor, or written to. */
bool thrum__adapt_pipe_is_shared(int fd, bool writes);
/* Whether it is such a pipe, and others may use none of its ends. For any descriptor. */
static inline bool is_of_own_pipe(int fd)
{
	return is_of_pipe(fd) && !thrum__adapt_pipe_is_shared(fd, false) &&
		!thrum__adapt_pipe_is_shared(fd, true);
}
/* Whether it has an end of any such pipe. */
bool thrum__adapt_has_shared(void);
/* In a fork's child: nothing is known of its pipes. */
void thrum__adapt_pipes_left(void);
/* This process uses an end that is written to, in ways that aren't seen. */
void thrum__adapt_pipe_use(int fd);
/* The thread that used an end last, or made it; 0: not known. */
uint32_t thrum__adapt_pipe_user(int fd, bool writes);
/* The thread that wrote last to the pipe that is read by this descriptor; 0: not known. */
uint32_t thrum__adapt_pipe_sender(int fd);
/* The number of that write, among all to pipes; 0: there was none. */
uint64_t thrum__adapt_pipe_turn(int fd);
/* Whether it has used an end, or may have. Also true for descriptors that are no such end. */
bool thrum__adapt_pipe_is_used(int fd, bool writes);
/* Whether this process wrote to the pipe that has or had this inode. */
bool thrum__adapt_pipe_was_written(uint64_t inode);
/* Whether the calling thread has written to the pipe by this descriptor, and no other thread of this
 * process, as far as is known. */
bool thrum__adapt_pipe_is_of_self(int fd);
/* Whether there is such a pipe from which others alone can read. */
bool thrum__adapt_feeds_others(void);
/* Whether it has a pipe from which it may read, as others write, and never did. */
bool thrum__adapt_has_unread(void);
/* Whether something was read from the pipe by this descriptor. */
bool thrum__adapt_pipe_is_read(int fd);
/* Whether a write was recorded to the pipe that is read by this descriptor: so it is known who writes. */
bool thrum__adapt_pipe_is_told(int fd);
/* Whether this process has written to the pipe that is read by this descriptor: so its writer is known. */
bool thrum__adapt_pipe_is_filled(int fd);
/* How many pipes that were made where this one was, and that others had, too, were read to their ends. */
uint32_t thrum__adapt_pipe_ends(int fd);
/* The number that the pipe's other end had when it was made: the one that writes, or reads; -1: not known. */
int thrum__adapt_pipe_other(int fd, bool writes);
/* The same of a pipe by its inode, also if this process has closed both ends. O(pipes). */
int thrum__adapt_pipe_made_as(uint64_t inode, bool writes);
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
/* The task that waits for the pipe to which is written by a descriptor, or NONE. */
thrum_task thrum__adapt_pipe_waiter(int fd);
/* The same for the pipe that is read by a descriptor. */
thrum_task thrum__adapt_pipe_writer(int fd);
/* The calling thread has read so much from it. That is recorded if somebody has waited for the pipe. */
void thrum__adapt_pipe_read(int fd, size_t size, const void *caller);
/* It is about to write so much. Returns whether somebody has waited for the pipe. */
bool thrum__adapt_pipe_writes(int fd, size_t size);
/* Records that the running task writes to it, if somebody has waited for the pipe. */
void thrum__adapt_pipe_written(int fd, const void *caller);
/* The calling thread has read more than one from an eventfd: then its name says so. Does nothing for other
 * pipes. */
void thrum__adapt_eventfd_read(int fd, uint64_t amount, const void *caller);
/* The most that one read took from an eventfd, and where; 0: never more than one. */
uint64_t thrum__adapt_eventfd_taken(int fd, const void **caller);

/* A pipe may hold tokens, such as of those that may run at a time: a thread takes one by reading a
 * byte, and gives it back. So it is a semaphore. */

/* The semaphore of the pipe that is read by this descriptor: not its address, but as those of
 * base/permits.c. NULL: it has no tokens. */
const void *thrum__adapt_pipe_tokens(int fd);

/* ---- tokens.c: they keep errno, and are async-signal-safe ---- */

/* Others are about to get this pipe, which had no other user so far: what is in it may be tokens. */
void thrum__adapt_tokens_begin(int from, int to);
/* They aren't, as far as is known: the pipe may be used unseen. */
void thrum__adapt_tokens_end(int fd);
/* The calling thread has read so much (negative: it failed), or is about to write so much. Only for
 * descriptors that are DESCRIPTOR_TOKENS. */
void thrum__adapt_tokens_took(int fd, ssize_t size, const void *caller);
void thrum__adapt_tokens_gives(int fd, size_t size);
/* The key of the tokens' semaphore, as in shared/sets.h. For any descriptor; 0: there is none. */
uint64_t thrum__adapt_tokens_key(int fd);

/* ---- sockets.c ---- */

/*
 * A connection between two processes of this machine, or two parts of one. Its messages are recorded as those
 * of a link, so that readers of both recordings know who answers whom. Only for descriptors that are
 * DESCRIPTOR_SOCKET. They keep errno, and are async-signal-safe.
 */

/* Roughly how many messages the process has sent and received so; and the descriptor of the latest, + 1. */
extern struct thrum__adapt_talk {
	_Atomic uint32_t messages;
	_Atomic int by;
} thrum__adapt_talk;
/* The running task is about to send by the descriptor. */
void thrum__adapt_socket_send(int fd);
/* Its lane is suspended, as it waits for room to send more. Nothing is recorded if a handler or a time limit
 * may end that. Keeps errno. */
void thrum__adapt_socket_wants_room(int fd);
/* It has received; or, while its lane is suspended, it waits for what comes next. */
void thrum__adapt_socket_receive(int fd);
/* Whether both ends are on this machine, as far as is known. */
bool thrum__adapt_socket_is_here(int fd);
/* Whether a message went over it. */
bool thrum__adapt_socket_is_known(int fd);
/* The running task waits for what comes next. */
void thrum__adapt_socket_wait(struct wait *, int fd, const void *caller);
/* The descriptor of this process that is the other end of a connection; -1: none is known, or the connection
 * has several descriptors. May change errno. */
int thrum__adapt_socket_peer(int fd);
/* The same among some sockets. O(count): doesn't look at others. */
int thrum__adapt_socket_peer_among(int fd, const int *among, unsigned count);
/* Finds the inode of a Unix socket's other end, whichever process has them; or, if nobody has accepted the
 * connection yet, that of the socket which listens. Returns false if there is none, or the kernel doesn't
 * tell. May change errno. */
bool thrum__adapt_socket_other(uint64_t inode, uint64_t *other, bool *listens);
/* The descriptor of this process for a Unix socket, by its inode; one of them if there are several; -1: it
 * has none. May change errno. */
int thrum__adapt_socket_of(uint64_t inode);
/* Whether it is a connected Unix socket that nobody has accepted yet. */
bool thrum__adapt_socket_is_queued(int fd);
/* Whether both are descriptors of the same socket. */
bool thrum__adapt_socket_is_copy(int fd, int other);
/* Whether a socket is connected to the address at which another one of the process listens, and the process
 * hasn't its other end: the connection is in the queue. May change errno. */
bool thrum__adapt_socket_is_before(int fd, int listener);
/* Whether a socket has a time limit for calls that read, or for those that write. Changes errno if it is no
 * socket. */
enum limit {
	ENDLESS,
	LIMITED,
	LIMIT_UNKNOWN
};
enum limit thrum__adapt_socket_limit(int fd, bool writes);
/* Whether it is a socket that listens. For any descriptor; may change errno. */
bool thrum__adapt_listens(int fd);
/* The descriptor is closed. */
void thrum__adapt_socket_forget(unsigned fd);
/* It is about to be connected, perhaps to another address. */
void thrum__adapt_socket_connects(int fd);
/* A datagram came from that address, or is about to go there. Returns whether it is noted: not if the address
 * is none of this machine's loopback, or the socket is connected, or has no port yet. */
bool thrum__adapt_datagram(int fd, bool receives, const struct sockaddr *, socklen_t size);

/* A socket that asks the kernel about sockets, to be closed at once; or negative. */
int thrum__adapt_open_diag(void);

/* ---- tcp_peers.c ---- */

/* Finds the inode of the other end of a TCP connection, whichever process has it. Returns false if it isn't
 * on this machine, if nobody has accepted it yet, or if the kernel doesn't tell. May change errno. */
bool thrum__adapt_tcp_other(int fd, uint64_t *inode);

/* ---- users.c ---- */

/* The calling thread has used a descriptor, or is about to. For any descriptor; async-signal-safe, as all
 * here. */
void thrum__adapt_user_note(int fd);
/* Something came out of it. */
void thrum__adapt_user_got(int fd);
/* By descriptor: who used it, the process with its only thread in the upper half; and the process in which
 * something came out of it. */
extern _Atomic uint64_t thrum__adapt_users[DESCRIPTORS];
extern _Atomic pid_t thrum__adapt_getters[DESCRIPTORS];
/* The calling thread, in the same way, once that is known. */
#define NO_USER UINT64_MAX
extern __thread uint64_t thrum__adapt_user __attribute__((tls_model("initial-exec")));
/* The same for a descriptor below DESCRIPTORS: mostly the thread has used it before. */
static inline void note_user(int fd)
{
	if (UNLIKELY(atomic_load_explicit(&thrum__adapt_users[fd], memory_order_relaxed) !=
		    thrum__adapt_user))
		thrum__adapt_user_note(fd);
}
static inline void note_getter(int fd)
{
	if (UNLIKELY(atomic_load_explicit(&thrum__adapt_getters[fd], memory_order_relaxed) !=
		    (pid_t)(uint32_t)thrum__adapt_user))
		thrum__adapt_user_got(fd);
}
/* It has accepted this one, and its uses are noted. */
void thrum__adapt_user_accepted(int fd);
/* The descriptor is another one from now on. */
void thrum__adapt_user_forget(int fd);
/* In a fork's child: whether its uses are noted. */
void thrum__adapt_users_left(bool records);
/* Whether a process, which is a copy of this one, has used a descriptor itself. Changes errno. */
enum thrum__adapt_use {
	USE_UNKNOWN,
	USE_NEVER,    /* nor did its parent before it was forked */
	USE_ACCEPTED, /* it has only accepted it */
	USE_SEEN
} thrum__adapt_user_of(pid_t process, int fd);
#define USED_BY_NONE 0 /* or by its parent, before it was forked */
#define USED_BY_SEVERAL UINT32_MAX
/* The only thread of such a process that has used a descriptor, or one of these; also SEVERAL if that isn't
 * known. Changes errno. */
uint32_t thrum__adapt_user_thread(pid_t process, int fd);
/* Whether something came out of a descriptor in such a process. Changes errno. */
bool thrum__adapt_user_has_got(pid_t process, int fd);

/* ---- readers.c ---- */

extern const void *_Atomic thrum__adapt_readers[FDS_MAX];
/* A call at that place has read from a socket; NULL: the socket is another one from now on.
 * Async-signal-safe. */
static inline void note_reader(int fd, const void *caller)
{
	if (LIKELY((unsigned)fd < FDS_MAX))
		atomic_store_explicit(&thrum__adapt_readers[fd], caller, memory_order_relaxed);
}
/* The place; NULL: nothing was read from it. */
const void *thrum__adapt_reader(int fd);
/* Adds ", read last by" and the place to a label with room for PLACE_MAX more bytes, if the program's own
 * code lies there. */
void thrum__adapt_reader_put(char *label, int fd);

/* ---- accepters.c ---- */

/* Not 0: the calling thread, or another one, accepts from this socket. */
extern _Atomic uint32_t thrum__adapt_accepters[DESCRIPTORS];
/* Whether any thread has accepted from a socket. */
bool thrum__adapt_has_accepters(void);
/* The calling thread is about to accept from a socket. */
void thrum__adapt_accepts(int fd);
/* The task of the only thread that accepts from those who connect to an address; or NONE. */
thrum_task thrum__adapt_accepter(const struct sockaddr *, socklen_t);
/* The first descriptor from which threads accept connections to an address, or -1. */
int thrum__adapt_accepts_at(const struct sockaddr *, socklen_t);
/* Whether the calling thread alone accepts from any socket. */
bool thrum__adapt_accepts_alone(void);
/* The descriptor by which the calling thread alone should answer another process's Unix socket, given by its
 * inode: one that listens, in whose queue it is, or the accepted connection, whose question is unread. -1:
 * there is none, or that isn't known. Changes errno. */
int thrum__adapt_asked_by(uint64_t socket, bool *is_queued);
/* In a fork's child: it hasn't accepted yet. */
void thrum__adapt_accepts_left(void);
/* Whether an address is on this machine, as far as it tells. */
bool thrum__adapt_is_here(const struct sockaddr *);
/* The hash of an address; 0: it has none. The address in which a socket listens for all of its machine's is
 * as good as any: so the hash of one with a port has the port alone. */
uint64_t thrum__adapt_address_hash(const struct sockaddr *, socklen_t size);

/* ---- connections.c ---- */

/* The program connects a socket to an address; peer may be NULL. For any descriptor, as all below. */
void thrum__adapt_connects(int fd, const struct sockaddr *peer, socklen_t size);
/* It has accepted a connection, there. If both ends are its own, they are a pipe from now on. Keeps errno. */
void thrum__adapt_connection_accepted(int fd, const void *caller);
/* The descriptor is closed, or calls that aren't seen may use it. */
void thrum__adapt_connection_forget(int fd);
/* There will be one more descriptor for it. Keeps errno. */
void thrum__adapt_connection_doubled(int fd);
/* A process is about to be started, which may have all descriptors. */
void thrum__adapt_connections_shared(void);

/* ---- streams.c ---- */

/* A stream of the C library (FILE) reads from a descriptor. */
void thrum__adapt_stream_reads(void *stream, int fd);
/* Whether it has read a line that the program hasn't taken, and there is no more to read. Keeps errno. */
bool thrum__adapt_stream_has_line(int fd);
/* How many bytes a stream of a process, a copy of this one, holds back that were written to it, and that are
 * for this pipe or socket; 0: none. Sets *fd to the stream's descriptor. Changes errno. */
size_t thrum__adapt_stream_holds_back(pid_t process, uint64_t inode, int *fd);
/* Whether such a process has a stream for a descriptor, and has used it, or that isn't known. Changes
 * errno. */
bool thrum__adapt_stream_has(pid_t process, int fd);

/* ---- timers.c ---- */

/* Whether the program has made a timer that is a descriptor. */
bool thrum__adapt_has_timers(void);
/* Whether a descriptor is one. */
bool thrum__adapt_is_timer(int fd);
/* A loop was told that it has come. */
void thrum__adapt_timer_came(int fd);
/* Whether it isn't armed, so that only this program lets it expire. */
bool thrum__adapt_timer_is_unarmed(int fd);
/* Whether a descriptor is a timer that is still to come. Keeps errno. */
bool thrum__adapt_timer_is_armed(int fd);
/* Whether one of them is. */
bool thrum__adapt_timers_are_armed(void);
/* Whether one is armed that has not come twice since a time. Keeps errno. */
bool thrum__adapt_timers_may_come(int64_t since);
/* Whether it came again and again, and for far longer than ever before isn't armed, while all other timers
 * that are armed come. Sets *age to the ns since it came last. */
bool thrum__adapt_timer_is_left(int fd, int64_t *age);
/* Whether no timer is armed, and this one is the program's own. */
bool thrum__adapt_timer_is_last(int fd);
/* Whether it is the program's own, and the last call that set it, in no library, disarmed it though it wasn't
 * armed. A time of zero may have been meant as "at once". */
bool thrum__adapt_timer_is_in_vain(int fd);
/* The task of one that was set, by mistake, to a time that comes much too late; else NONE. */
thrum_task thrum__adapt_timer_late(int fd);
/* The descriptor is closed. */
void thrum__adapt_timer_closed(int fd);
/* That task tells of it, and ends when it is armed. */
void thrum__adapt_timer_tell(int fd, thrum_task);
/* Where it was set last; NULL: it isn't known. */
const void *thrum__adapt_timer_caller(int fd);
/* Whether this process made a timer, and has sent no descriptors to others since. */
bool thrum__adapt_timer_is_own(int fd);
/* Other processes may have got descriptors. */
void thrum__adapt_timers_shared(void);
/* Writes "arming of timerfd 5, last armed by PLACE", or the like. Keeps errno. */
void thrum__adapt_put_timer(char to[CALL_MAX + PLACE_MAX], int fd);

/* ---- unsent.c ---- */

/*
 * A write to a descriptor that doesn't block took only a part, or nothing, as there was no room. It is noted
 * until a later write takes all, until the program asks when there is room, or until the descriptor is
 * closed.
 */
struct unsent {
	const void *caller;
	const struct thread *thread; /* that wrote */
	uint32_t times;              /* differs if another write fell short */
	bool is_part;                /* a part of it was sent */
	uint32_t asked;              /* so often in a row the program asked for room after one */
	const void *asker;   /* the callback of libevent's event that did so last, or NULL */
	bool is_asker;       /* which wrote */
	const void *refused; /* who asked for a write that failed; NULL: nobody, or one since */
	uint64_t task;       /* that tells of it; 0: none */
};

/* Such a write, there. Keeps errno. Async-signal-safe. */
void thrum__adapt_unsent_note(int fd, bool is_part, const void *caller);
/* A library wrote for the program, which asked for that there. */
void thrum__adapt_unsent_by(int fd, const void *caller);
/* A write that was asked for there failed, with nothing sent; NULL: another one was asked for since. */
void thrum__adapt_unsent_refused(int fd, const void *caller);
/* A later write took all. Only for descriptors that are full. */
void thrum__adapt_unsent_over(int fd);
/* The program asks when there is room. Only for descriptors that are full. */
void thrum__adapt_unsent_asked(int fd);
/* It is about to do so by an event of libevent with this callback. */
void thrum__adapt_unsent_asker(int fd, const void *callback);
/* This descriptor is about to be closed. Async-signal-safe. */
void thrum__adapt_unsent_forget(int fd);

/* ---- look/unanswered.c ---- */

extern _Atomic int thrum__adapt_unanswered;
/* Whether ends of connections were read and not answered yet. */
static inline bool has_unanswered(void)
{
	return atomic_load_explicit(&thrum__adapt_unanswered, memory_order_relaxed) > 0;
}
/* The calling thread has read the end of a socket's data, there. */
void thrum__adapt_end_read(int fd, const void *caller);
/* Something is sent there, or it is closed. */
void thrum__adapt_end_answered(int fd);

/* Its task ends, if it has one. */
void thrum__adapt_unsent_end(int fd);
/* Returns whether one is noted. */
bool thrum__adapt_unsent_get(int fd, struct unsent *);
void thrum__adapt_unsent_tell(int fd, thrum_task);
/* No descriptor from this one on was ever noted. */
int thrum__adapt_unsent_used(void);
/* In a fork's child: none is noted. */
void thrum__adapt_unsent_left(void);

/* ---- limit.c ---- */

/* A call made a descriptor, there. */
void thrum__adapt_limit_made(int fd, const void *maker);
/* The call that made a descriptor of a copy of this process; NULL: not known. Changes errno. */
const void *thrum__adapt_limit_maker(pid_t process, int fd);
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

#endif
