/* SPDX-License-Identifier: ISC */
/*
 * Writes to a pipe of more than it has room for, while another process has the other end. Within the call a
 * thread would wait until all is written, and could look for nobody. So the pipe gets as much as it has room
 * for, again and again; once it has been full for long, the wait is one that looks. No such write is
 * atomic: the bytes are the same, and may be mixed with those of others as they were before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/call/call.h"

REAL(poll)
REAL(write)

bool thrum__adapt_lacks_room(int fd, size_t size)
{
	int error = errno, used = 0;
	int room = size > LARGE ? fcntl(fd, F_GETPIPE_SZ) : -1;
	bool lacks = room > 0 && ioctl(fd, FIONREAD, &used) == 0 && size > (size_t)(room - used);

	errno = error;
	return lacks;
}

bool thrum__adapt_is_large(int fd, size_t size)
{
	int flags;

	if (size <= LARGE || fd <= STDERR_FILENO || is_socket(fd) || is_of_own_pipe(fd) ||
		is_limited() || fcntl(fd, F_GETPIPE_SZ) <= 0 ||
		thrum__adapt_handlers() == HANDLERS_MIXED)
		return false;
	flags = fcntl(fd, F_GETFL);
	return flags >= 0 && !(flags & (O_NONBLOCK | O_DIRECT));
}

/* The number of the pipe that a descriptor stands for; 0: none. */
static ino_t pipe_of(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode) ? file.st_ino : 0;
}

/* Waits until the pipe has room, and looks if that takes long. Returns false if the rest is to be written in
 * a single call, or not at all: *is_over tells which, and errno why. So it is if the descriptor isn't that of
 * the pipe any more, or a handler ended the call. */
static bool wait_for_room(struct wait *wait, int fd, const void *caller,
	struct held_signals *signals, bool *is_over)
{
	struct pollfd one = {.fd = fd, .events = POLLOUT};
	ino_t pipe = pipe_of(fd);
	int ready = thrum__adapt_wait_for(&one, LOOK_FIRST, signals);
	bool is_interrupted = ready < 0 && errno == EINTR && signals->are_held, is_gone;

	if (ready == 0 && !is_limited()) {
		thrum__adapt_wait_end(wait);
		is_interrupted = thrum__adapt_begin_write(wait, caller, fd, SIDE_TRIED, signals);
		ready = real_poll(NULL)(&one, 1, 0);
	}
	is_gone = pipe_of(fd) != pipe;
	*is_over = is_gone || is_interrupted;
	if (*is_over)
		errno = is_gone ? EBADF : EINTR;
	return ready > 0 && !*is_over;
}

ssize_t thrum__adapt_write_large(struct wait *wait, int fd, const void *from, size_t size,
	const void *caller)
{
	struct held_signals signals
		__attribute__((cleanup(thrum__adapt_release_signals))) = {.are_held = false};
	int error = errno;
	bool is_over = false;
	size_t done = 0;
	ssize_t result;

	if (thrum__adapt_handlers() == HANDLERS_INTERRUPT)
		thrum__adapt_hold_signals(&signals);
	do {
		struct iovec rest = {(char *)(uintptr_t)from + done, size - done};

		result = syscall(SYS_pwritev2, fd, &rest, 1L, -1L, -1L, (long)NOWAIT);
		if (result > 0)
			done += (size_t)result;
		/* Kernels before 6.4 can't, and a sandbox may forbid it. */
		else if (result < 0 && errno != EAGAIN && errno != EPIPE)
			break;
	} while (done < size && (result >= 0 || errno == EAGAIN) &&
		wait_for_room(wait, fd, caller, &signals, &is_over));
	if (done < size && (result >= 0 || errno != EPIPE) && !is_over) {
		thrum__adapt_release_signals(&signals);
		signals.are_held = false;
		errno = error;
		result = real_write(caller)(fd, (const char *)from + done, size - done);
		done += result > 0 ? (size_t)result : 0;
	}
	if (done > 0)
		errno = error;
	return done > 0 ? (ssize_t)done : result;
}
