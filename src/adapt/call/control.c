/* SPDX-License-Identifier: ISC */
/*
 * fcntl() and ioctl(): they wait for locks of files, duplicate descriptors, and let these block or not.
 */
#define _GNU_SOURCE
/* It would give fcntl() another name. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "adapt/call/call.h"

REAL(fcntl)
REAL(fcntl64)
REAL(ioctl)

typedef int control_function(int fd, int command, ...);

void thrum__adapt_file_lock_wait(struct wait *wait, const void *caller, int fd,
	const struct flock *range)
{
	struct flock taken = *range;
	int error = errno;
	bool is_known = real_fcntl(caller)(fd, F_GETLK, &taken) == 0 && taken.l_type != F_UNLCK &&
		taken.l_pid > 0;

	errno = error;
	thrum__adapt_file_wait(wait, fd, is_known ? taken.l_pid : -1, caller);
}

static NOINLINE int wait_in_fcntl(control_function *real, const void *caller, int fd, int command,
	void *argument)
{
	struct wait blocked __attribute__((cleanup(thrum__adapt_wait_end)));

	thrum__adapt_file_lock_wait(&blocked, caller, fd, argument);
	return real(fd, command, argument);
}

/* Tries first to take a lock without waiting. */
static int take_lock_of_file(control_function *real, const void *caller, int fd, int command,
	void *argument)
{
	int error = errno;

	pthread_testcancel();
	int result = real(fd, command == F_SETLKW ? F_SETLK : F_OFD_SETLK, argument);

	if (result == 0 || (errno != EACCES && errno != EAGAIN))
		return result;
	errno = error;
	return wait_in_fcntl(real, caller, fd, command, argument);
}

static void duplicate(int fd)
{
	thrum__adapt_tokens_end(fd);
	thrum__adapt_connection_doubled(fd);
	if (is_of_pipe(fd))
		thrum__adapt_pipe_shared(fd);
	if (fd >= 0)
		thrum__adapt_files_forget((unsigned)fd, (unsigned)fd);
}

static int control(control_function *real, const void *caller, int fd, int command, void *argument)
{
	if ((command == F_SETLKW || command == F_OFD_SETLKW) && is_chosen(ADAPTER_BLOCK))
		return take_lock_of_file(real, caller, fd, command, argument);
	int result = real(fd, command, argument);

	if (command == F_SETFL)
		thrum__adapt_descriptor_told(fd, result == 0 && (uintptr_t)argument & O_NONBLOCK);
	else if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		duplicate(fd);
	return result;
}

/* Its third argument is a pointer or an int, or there is none. As in libc, it is taken and passed on
 * as a pointer. */
#define CONTROL(name) \
	STAND_IN int name(int fd, int command, ...) \
	{ \
		va_list rest; \
\
		va_start(rest, command); \
		void *argument = va_arg(rest, void *); \
\
		va_end(rest); \
		return control(real_##name(CALLER), CALLER, fd, command, argument); \
	}
CONTROL(fcntl)
CONTROL(fcntl64)

/* It may let a descriptor block, or not. Its third argument is like that of fcntl(). */
STAND_IN int ioctl(int fd, unsigned long request, ...)
{
	va_list rest;

	va_start(rest, request);
	void *argument = va_arg(rest, void *);

	va_end(rest);
	int result = real_ioctl(CALLER)(fd, request, argument);

	if (request == FIONBIO)
		thrum__adapt_descriptor_told(fd, result == 0 && *(const int *)argument);
	return result;
}
