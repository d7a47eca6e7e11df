/* SPDX-License-Identifier: ISC */
/*
 * Calls that wait for something outside of the program, and not in a loop: the thread waits for a task
 * that is named after the call. A call that need not wait is not recorded: that is found out before, by
 * poll() or by a call of the same sort that doesn't wait.
 */
#define _GNU_SOURCE
/* They would give functions that are defined here other names. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
/* Nor should getline() be one of its header's. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adapt/base/handover.h"
#include "adapt/call/call.h"

/* Programs that are compiled with _FORTIFY_SOURCE call these. */
ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
char *__fgets_chk(char *to, size_t room, int size, FILE *stream);
size_t __fread_chk(void *restrict to, size_t room, size_t size, size_t count,
	FILE *restrict stream);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict to, size_t size, size_t room, int flags,
	struct sockaddr *restrict peer, socklen_t *restrict length);

#define WAITS(type, name, parameters, arguments, waits, begin) REAL(name)
#define TRIES(type, name, parameters, arguments, waits, first, is_refused, begin) REAL(name)
#define GETS(name, parameters, arguments, size, parts, count) REAL(name)
#define READS(type, name, parameters, arguments, flags, verb) REAL(name)
#define ACCEPTS(name, parameters, arguments) REAL(name)
#define RECEIVES(name, parameters, arguments, first, peer, length) REAL(name)
#define PUTS(name, parameters, arguments, size, parts, count) REAL(name)
#define WRITES(type, name, parameters, arguments, flags, size, exact, rights, peer, length) \
	REAL(name)
#define REAPS(name, parameters, arguments, first) REAL(name)
#define LEARNS(type, name, parameters, arguments, process, options, begin, note) REAL(name)
#include "adapt/call/blocking.def"
#undef WAITS
#undef TRIES
#undef GETS
#undef READS
#undef ACCEPTS
#undef RECEIVES
#undef PUTS
#undef WRITES
#undef REAPS
#undef LEARNS

REAL(syscall)

/* ---- Whether a call would wait --------------------------------------------------------------- */

#define WAKE_UP 8  /* bytes, at most, that may only wake a loop */
#define ROOM LARGE /* at least, at a descriptor that can be written to */

static inline bool would_read(int fd, int flags)
{
	return !(flags & MSG_DONTWAIT) &&
		thrum__adapt_would_wait(fd, flags & MSG_WAITALL ? 0 : POLLIN);
}

/* The flags of a call that reads so much: for nothing it doesn't wait. */
static int flags_for(size_t size)
{
	return size > 0 ? 0 : MSG_DONTWAIT;
}

static inline bool would_write(int fd, int flags, size_t size)
{
	if (flags & MSG_DONTWAIT) {
		thrum__adapt_descriptor_learn(fd); /* who sends is noted all the same */
		return false;
	}
	return size > 0 && thrum__adapt_would_wait(fd, size > ROOM ? 0 : POLLOUT);
}

static size_t size_of(const struct iovec *parts, int count)
{
	size_t size = 0;

	for (int i = 0; parts && i < count; i++)
		size += parts[i].iov_len;
	return size;
}

/* Whether a program may have something at an address: not in the first page, nor in the kernel's half. A call
 * fails if it gets such a one. */
static bool may_be_at(const void *address)
{
	return (intptr_t)address >= 4096;
}

/* Whether a message carries descriptors: those who get them may use any pipe. */
static bool has_rights(const struct msghdr *message)
{
	if (!may_be_at(message) || !is_chosen(ADAPTER_BLOCK))
		return false;
	struct msghdr copy = *message;

	for (const struct cmsghdr *part = CMSG_FIRSTHDR(&copy); part;
		part = CMSG_NXTHDR(&copy, (struct cmsghdr *)(uintptr_t)part))
		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
			return true;
	return false;
}

static bool have_rights(const struct mmsghdr *messages, unsigned count)
{
	for (unsigned i = 0; messages && i < count; i++)
		if (has_rights(&messages[i].msg_hdr))
			return true;
	return false;
}

/* Starts the recording of a program that asks another machine, as that may not answer: also one with a
 * single thread and no loop is then seen to hang. A peer on this machine alone (NULL: none is known) is
 * asked by many a small tool. Returns whether the call is recorded. */
static bool starts(const struct sockaddr *peer)
{
	if (is_chosen(ADAPTER_BLOCK) && (!peer || peer->sa_family != AF_UNIX))
		thrum__adapt_start();
	return is_on(ADAPTER_BLOCK);
}

/* For a call that is a point of cancellation, before one that is none. */
static bool may_cancel(void)
{
	pthread_testcancel();
	return true;
}

/* Starts the recording of a program that waits for a pipe which others have an end of, too: they may never
 * write to it, nor close it, nor read so much. Returns whether a call may have to wait, and is recorded. */
static NOINLINE bool starts_pipe(int fd, bool writes, size_t size)
{
	if (is_chosen(ADAPTER_BLOCK) && !is_limited() && thrum__adapt_pipe_is_shared(fd, writes) &&
		(thrum__adapt_would_wait(fd, writes ? POLLOUT : POLLIN) ||
			(writes && thrum__adapt_lacks_room(fd, size))))
		thrum__adapt_start();
	return may_wait(fd);
}

/* The same for a program that waits for a child, and has an end of a pipe that the child may have, too. */
static bool waits_for_child(void)
{
	if (UNLIKELY(!is_on(ADAPTER_BLOCK)) && is_chosen(ADAPTER_BLOCK) &&
		thrum__adapt_has_shared())
		thrum__adapt_start();
	return is_on(ADAPTER_BLOCK);
}

/* Whether a handler ended a call that waits for children, in a program that records nothing yet:
 * that begins to record if the wait lasts. */
static bool is_interrupted(pid_t process, int options)
{
	return UNLIKELY(!is_on(ADAPTER_BLOCK)) && is_chosen(ADAPTER_BLOCK) &&
		!(options & (WNOHANG | WUNTRACED | WCONTINUED)) &&
		thrum__adapt_children_interrupt(process);
}

/* Starts the recording of a fork's child that waits for a descriptor. Returns whether the call is
 * recorded. */
static NOINLINE bool begins_child(int fd, bool writes)
{
	thrum__adapt_user_note(fd);
	if ((unsigned)fd < DESCRIPTORS && thrum__adapt_fork_waits(fd, writes ? POLLOUT : POLLIN) &&
		may_wait(fd))
		return true;
	/* The call is made as if there were no adapter. */
	if (!writes && !thrum__adapt_would_wait(fd, POLLIN))
		thrum__adapt_user_got(fd);
	return false;
}

static inline bool sleeps(int64_t ns)
{
	return is_on(ADAPTER_BLOCK) || (is_fresh(ADAPTER_BLOCK) && thrum__adapt_fork_sleeps(ns));
}

/* size: of a write, if it is known. */
static inline bool may_wait_for(int fd, bool writes, size_t size)
{
	return may_wait(fd) || (UNLIKELY(is_of_pipe(fd)) && starts_pipe(fd, writes, size)) ||
		(is_fresh(ADAPTER_BLOCK) && begins_child(fd, writes));
}

/* Whether somebody may have to be asked for a host: not if it is an address. */
static bool is_name(const char *host)
{
	struct in6_addr address;

	return host && inet_pton(AF_INET, host, &address) != 1 &&
		inet_pton(AF_INET6, host, &address) != 1;
}

/* Whether a call that reads from a stream has to wait: nothing is in its buffer. */
static bool waits_for_stream(FILE *stream)
{
#ifdef __GLIBC__
	int fd, error;

	if (LIKELY(stream->_IO_read_ptr < stream->_IO_read_end))
		return false;
	error = errno;
	fd = fileno(stream);
	errno = error; /* it fails for a stream that has no descriptor */
	thrum__adapt_stream_reads(stream, fd);
	return fd >= 0 && may_wait_for(fd, false, 0) && thrum__adapt_would_wait(fd, POLLIN);
#else
	return false;
#endif
}

static void begin_stream(struct wait *blocked, const void *caller, FILE *stream)
{
	(void)thrum__adapt_begin_read(blocked, caller, "read from", fileno(stream), false);
}

/* The descriptor + 1 to which this thread tried to write last, if that would wait. */
static __thread int tried __attribute__((tls_model("initial-exec")));

static enum side side_of(int fd)
{
	return tried == fd + 1 ? SIDE_TRIED : SIDE_WRITES;
}

/* ---- The stand-ins of the table --------------------------------------------------------------- */

#define LIST(...) __VA_ARGS__
/* To wait is a function of its own, so that a call which doesn't wait saves few registers. */
#define WAIT_IN(type, name, parameters, arguments, begin) \
	static NOINLINE type wait_in_##name(const void *caller, LIST parameters) \
	{ \
		struct wait blocked __attribute__((cleanup(thrum__adapt_wait_end))); \
\
		begin; \
		return real_##name(caller) arguments; \
	}
#define WAITS(type, name, parameters, arguments, waits, begin) \
	WAIT_IN(type, name, parameters, arguments, begin) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (LIKELY(!(waits))) \
			return real_##name(caller) arguments; \
		return wait_in_##name(CHAIN, LIST arguments); \
	}
#define TRIES(type, name, parameters, arguments, waits, first, is_refused, begin) \
	WAIT_IN(type, name, parameters, arguments, begin) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
		int error = errno; \
\
		if (!(waits)) \
			return real_##name(caller) arguments; \
		type result = real_##name(caller) first; \
\
		if (!(is_refused)) \
			return result; \
		errno = error; \
		return wait_in_##name(CHAIN, LIST arguments); \
	}
/* Tells who takes from a pipe of the program, or from another process. is_noted: that is told already. */
static inline ssize_t note_got(int fd, ssize_t result, bool is_noted, const void *caller)
{
	if (UNLIKELY(is_of_pipe(fd)) && result > 0) {
		thrum__adapt_pipe_read(fd, (size_t)result, caller);
		if (UNLIKELY(has_handovers()))
			thrum__adapt_handover_read(fd);
	}
	if (UNLIKELY(atomic_load_explicit(&thrum__adapt_are_edges, memory_order_relaxed)) &&
		is_socket(fd))
		thrum__adapt_edge_read(fd);
	if (is_socket(fd) && result > 0) {
		note_reader(fd, caller);
		note_user(fd);
		if (!is_noted)
			thrum__adapt_socket_receive(fd);
	} else if (result > 0) {
		note_getter(fd);
	}
	if (UNLIKELY(result == 0) && is_socket(fd))
		thrum__adapt_end_read(fd, caller);
	hear_news(thrum__adapt_self);
	return result;
}

static inline ssize_t note_read(int fd, ssize_t result, const void *caller)
{
	return note_got(fd, result, false, caller);
}

/* The same for a read that may be from an eventfd, which gives a number. */
static inline ssize_t note_amount(int fd, ssize_t result, const struct iovec *parts,
	const void *caller)
{
	uint64_t amount;

	if (UNLIKELY(is_of_pipe(fd)) && result == sizeof amount &&
		parts->iov_len >= sizeof amount) {
		memcpy(&amount, parts->iov_base, sizeof amount);
		if (amount > 1)
			thrum__adapt_eventfd_read(fd, amount, caller);
	}
	return note_read(fd, result, caller);
}

/* One of several threads that see something in a pipe gets it. So the call is made first without waiting: it
 * fails with EAGAIN if it would wait, and with another error if that isn't known. */
static NOINLINE ssize_t get_quickly(int fd, size_t size, const struct iovec *parts, int count)
{
	if (size == 0 || !thrum__adapt_waits_for_any(fd)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	pthread_testcancel();
	return real_syscall(NULL)(SYS_preadv2, fd, parts, (long)count, -1L, -1L, (long)NOWAIT);
}

#define GETS(name, parameters, arguments, size, parts, count) \
	static NOINLINE ssize_t wait_in_##name(const void *caller, LIST parameters) \
	{ \
		struct wait blocked __attribute__((cleanup(thrum__adapt_wait_end))); \
		ssize_t result = -1; \
		int error = errno; \
\
		if (thrum__adapt_begin_read(&blocked, caller, "read from", fd, true)) \
			return -1; \
		while (blocked.is_ready && (result = get_quickly(fd, size, parts, count)) < 0 && \
			errno == EAGAIN) \
			thrum__adapt_own_wait(&blocked, fd, SIDE_READS); \
		errno = error; \
		return result >= 0 ? result : real_##name(caller) arguments; \
	} \
	static inline ssize_t get_##name(const void *caller, LIST parameters) \
	{ \
		bool waits; \
\
		if (UNLIKELY(is_of_pipe(fd))) { \
			int error = errno; \
			ssize_t result = get_quickly(fd, size, parts, count); \
\
			if (result >= 0) \
				return note_amount(fd, result, parts, caller); \
			waits = errno == EAGAIN \
				? thrum__adapt_would_wait(fd, 0) \
				: errno != EINVAL && would_read(fd, flags_for(size)); \
			errno = error; \
		} else { \
			waits = would_read(fd, flags_for(size)); \
		} \
		return note_amount(fd, \
			waits ? wait_in_##name(caller, LIST arguments) \
			      : real_##name(caller) arguments, \
			parts, caller); \
	} \
	static NOINLINE ssize_t take_by_##name(const void *caller, LIST parameters) \
	{ \
		ssize_t result = may_wait_for(fd, false, 0) ? get_##name(caller, LIST arguments) \
							    : real_##name(caller) arguments; \
\
		thrum__adapt_tokens_took(fd, result, caller); \
		return result; \
	} \
	STAND_IN ssize_t name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (UNLIKELY(is_of_tokens(fd))) \
			return take_by_##name(CHAIN, LIST arguments); \
		if (LIKELY(!may_wait_for(fd, false, 0))) \
			return real_##name(caller) arguments; \
		return get_##name(CHAIN, LIST arguments); \
	}
#define READS(type, name, parameters, arguments, flags, verb) \
	WAIT_IN(type, name, parameters, arguments, \
		if (thrum__adapt_begin_read(&blocked, caller, verb, fd, true)) return -1) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (LIKELY(!may_wait_for(fd, false, 0))) \
			return real_##name(caller) arguments; \
		caller = CHAIN; \
		return (type)note_read(fd, \
			would_read(fd, flags) ? wait_in_##name(caller, LIST arguments) \
					      : real_##name(caller) arguments, \
			caller); \
	}
/* A fork's child may accept before it records. */
static inline int note_owner(int made)
{
	if (made >= 0)
		thrum__adapt_user_accepted(made);
	return made;
}

/* It may wait before it finds that there is no free descriptor. */
static inline int note_accepted(int made, const void *caller)
{
	thrum__adapt_accept_over();
	if (made >= 0) {
		thrum__adapt_limit_made(note_owner(made), caller);
		leave_limit();
		thrum__adapt_connection_accepted(made, caller);
	} else if (errno == EMFILE || errno == ENFILE) {
		thrum__adapt_limit_hit(caller);
	}
	return made;
}

#define ACCEPTS(name, parameters, arguments) \
	WAIT_IN(int, name, parameters, arguments, \
		if (thrum__adapt_begin_read(&blocked, caller, "accept from", fd, true)) return -1) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
\
		thrum__adapt_watch_accepts(fd, caller); \
		if (LIKELY(!may_wait_for(fd, false, 0))) \
			return note_owner(real_##name(caller) arguments); \
		thrum__adapt_accepts(fd); \
\
		int made = would_read(fd, 0) ? wait_in_##name(CHAIN, LIST arguments) \
					     : real_##name(caller) arguments; \
\
		return note_accepted((int)note_read(fd, made, caller), caller); \
	}
/* The same for a call that tells who sent it; NULL: it doesn't. size: as the caller has room for it. */
static inline ssize_t note_received(int fd, ssize_t result, const struct sockaddr *peer,
	socklen_t size, const void *caller)
{
	bool is_noted = may_be_at(peer) && result >= 0 && is_socket(fd) &&
		thrum__adapt_datagram(fd, true, peer, size);

	return note_got(fd, result, is_noted, caller);
}
#define RECEIVES(name, parameters, arguments, first, peer, length) \
	WAIT_IN(ssize_t, name, parameters, arguments, \
		if (thrum__adapt_begin_read(&blocked, caller, "receive from", fd, \
			    true)) return -1) \
	STAND_IN ssize_t name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (LIKELY(!may_wait_for(fd, false, 0))) \
			return real_##name(caller) arguments; \
		caller = CHAIN; \
		socklen_t size_before = length; \
\
		/* Where it waits for more, the first would take only a part of that. */ \
		if (!(flags & MSG_WAITALL) && thrum__adapt_waits_for_any(fd)) { \
			int error = errno; \
			ssize_t result = real_##name(caller) first; \
\
			if (result >= 0 || errno != EAGAIN || flags & MSG_DONTWAIT) \
				return note_received(fd, result, peer, size_before, caller); \
			errno = error; \
		} \
\
		ssize_t result = would_read(fd, flags | MSG_WAITALL) \
			? wait_in_##name(caller, LIST arguments) \
			: real_##name(caller) arguments; \
\
		return note_received(fd, result, peer, size_before, caller); \
	}

/* Tells who writes to another process, or to a pipe of the program: before it is read, if that is sure to
 * succeed. */
static inline bool note_write(int fd, size_t size, const void *caller)
{
	bool is_sure;

	note_user(fd);
	if (UNLIKELY(has_unanswered()))
		thrum__adapt_end_answered(fd);
	if (is_socket(fd))
		thrum__adapt_socket_send(fd);
	if (!is_of_pipe(fd))
		return false;
	if (size <= WAKE_UP && has_taken_lock())
		thrum__adapt_handover_write(thrum__adapt_pipe_other(fd, false));
	is_sure = thrum__adapt_pipe_writes(fd, size) && thrum__adapt_is_ready(fd, POLLOUT);
	if (is_sure)
		thrum__adapt_pipe_written(fd, caller);
	return is_sure;
}

/* size: as the call returns it if all is written; SIZE_MAX: not known. Eight bytes or fewer, as of an
 * eventfd, may only wake somebody. */
static inline ssize_t note_written(int fd, bool is_noted, ssize_t result, size_t size,
	const void *caller)
{
	if (is_of_pipe(fd) && !is_noted && result > 0)
		thrum__adapt_pipe_written(fd, caller);
	if (LIKELY((size_t)result == size) || (result > 0 && size == SIZE_MAX)) {
		if (UNLIKELY(is_full(fd)))
			thrum__adapt_unsent_over(fd);
	} else if (result > 0 || (result < 0 && errno == EAGAIN)) {
		thrum__adapt_unsent_note(fd, result > 0, size > sizeof(uint64_t) ? caller : NULL);
	}
	return result;
}

/* A full pipe may still have room for a short write, which poll() doesn't tell. That is all written or not at
 * all, so it can be tried. Returns -1 with EAGAIN if it would wait, or that isn't known. */
static NOINLINE ssize_t try_write(int fd, size_t size, const struct iovec *parts, int count)
{
	ssize_t result = -1;

	errno = EAGAIN;
	tried = 0;
	if (size <= ROOM && !is_socket(fd) && fcntl(fd, F_GETPIPE_SZ) > 0 && may_cancel()) {
		result = real_syscall(
			NULL)(SYS_pwritev2, fd, parts, (long)count, -1L, -1L, (long)NOWAIT);
		if (result >= 0 || errno == EAGAIN)
			tried = fd + 1;
		else if (errno != EPIPE) /* kernels before 6.4 can't, and a sandbox may forbid it */
			errno = EAGAIN;
	}
	return result;
}

#define PUTS(name, parameters, arguments, size, parts, count) \
	static NOINLINE ssize_t wait_in_##name(const void *caller, LIST parameters) \
	{ \
		struct wait blocked __attribute__((cleanup(thrum__adapt_wait_end))); \
		const struct iovec *all = parts; \
		int error = errno; \
		bool is_large = (count) == 1 && thrum__adapt_is_large(fd, all->iov_len); \
\
		errno = error; \
		if (thrum__adapt_begin_write(&blocked, caller, fd, side_of(fd), NULL)) \
			return -1; \
		return is_large ? thrum__adapt_write_large(&blocked, fd, all->iov_base, \
					  all->iov_len, caller) \
				: real_##name(caller) arguments; \
	} \
	STAND_IN ssize_t name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (UNLIKELY(is_of_tokens(fd))) \
			thrum__adapt_tokens_gives(fd, size); \
		if (LIKELY(!may_wait_for(fd, true, size))) \
			return real_##name(caller) arguments; \
		caller = CHAIN; \
		size_t all = size; \
		bool waits = would_write(fd, 0, all), is_noted = note_write(fd, all, caller); \
\
		if (UNLIKELY(waits)) { \
			int error = errno; \
			ssize_t result = try_write(fd, all, parts, count); \
\
			if (result >= 0 || errno != EAGAIN) \
				return note_written(fd, is_noted, result, all, caller); \
			errno = error; \
		} \
		return note_written(fd, is_noted, \
			waits ? wait_in_##name(caller, LIST arguments) \
			      : real_##name(caller) arguments, \
			all, caller); \
	}
/* Notes a datagram for an address; NULL: it has none. Returns whether that has to be tried again after the
 * call, which gives the socket a port. */
static inline bool note_sent(int fd, ssize_t result, const struct sockaddr *peer, socklen_t length)
{
	return may_be_at(peer) && result >= 0 && is_socket(fd) &&
		!thrum__adapt_datagram(fd, false, peer, length);
}
#define WRITES(type, name, parameters, arguments, flags, size, exact, rights, peer, length) \
	WAIT_IN(type, name, parameters, arguments, \
		if (thrum__adapt_begin_write(&blocked, caller, fd, SIDE_WRITES, NULL)) return -1) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
\
		if (rights) \
			thrum__adapt_pipes_shared(); \
		if (LIKELY(!may_wait_for(fd, true, size))) \
			return real_##name(caller) arguments; \
		caller = CHAIN; \
		size_t all = size; \
		bool waits = would_write(fd, flags, all), is_noted = note_write(fd, all, caller); \
		bool is_late = note_sent(fd, 1, peer, length); \
		ssize_t result = waits ? wait_in_##name(caller, LIST arguments) \
				       : real_##name(caller) arguments; \
\
		if (UNLIKELY(is_late)) \
			note_sent(fd, result, peer, length); \
		return (type)note_written(fd, is_noted, result, (exact) ? all : SIZE_MAX, caller); \
	}

/* Calls that wait for a child, but can't try first. */
#define LEARNS(type, name, parameters, arguments, process, options, begin, note) \
	WAIT_IN(type, name, parameters, arguments, if (begin) return -1) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
		__typeof__(*status) own = {0}; \
		type result; \
\
		if (is_interrupted(process, options)) \
			return -1; \
		status = status ? status : &own; \
		result = !((options)&WNOHANG) && waits_for_child() \
			? wait_in_##name(caller, LIST arguments) \
			: real_##name(caller) arguments; \
		note; \
		return result; \
	}

#define REAPS(name, parameters, arguments, first) \
	WAIT_IN(pid_t, name, parameters, arguments, \
		if (thrum__adapt_begin_child(&blocked, caller, process, options)) return -1) \
	STAND_IN pid_t name parameters \
	{ \
		const void *caller = CALLER; \
		int error = errno; \
\
		int own = 0; \
\
		if (is_interrupted(process, options)) \
			return -1; \
		status = status ? status : &own; \
		if (options & WNOHANG || !waits_for_child()) \
			return thrum__adapt_child_waited(caller, process, status, options, \
				real_##name(caller) arguments); \
		pid_t result = real_##name(caller) first; \
\
		if (result == 0) { \
			errno = error; \
			result = wait_in_##name(caller, LIST arguments); \
		} \
		return thrum__adapt_child_waited(caller, process, status, options, result); \
	}
#include "adapt/call/blocking.def"

/* The C library's reads unseen. */
STAND_IN int eventfd_read(int fd, eventfd_t *value)
{
	ssize_t got = may_wait_for(fd, false, 0) ? get_read(CHAIN, fd, value, sizeof *value)
						 : real_read(CALLER)(fd, value, sizeof *value);

	return got == sizeof *value ? 0 : -1;
}
