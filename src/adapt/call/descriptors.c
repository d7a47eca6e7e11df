/* SPDX-License-Identifier: ISC */
/* The calls that make and close descriptors. */
#define _GNU_SOURCE
/* They would give functions that are defined here other names. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapt/call/call.h"

/* Programs that are compiled with _FORTIFY_SOURCE call these. */
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);

void thrum__adapt_descriptors_forget(unsigned first, unsigned last)
{
	leave_limit();
	thrum__adapt_watches_forget(first, last);
	thrum__adapt_removed_forget(first, last);
	thrum__adapt_files_forget(first, last);
	for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++) {
		if (is_of_pipe((int)fd))
			thrum__adapt_pipe_closed((int)fd);
		if (UNLIKELY(has_unanswered()))
			thrum__adapt_end_answered((int)fd);
		if (is_socket((int)fd))
			thrum__adapt_socket_forget(fd);
		note_reader((int)fd, NULL);
		thrum__adapt_user_forget((int)fd);
		thrum__adapt_connection_forget((int)fd);
		thrum__adapt_timer_closed((int)fd);
		thrum__adapt_limit_made((int)fd, NULL);
		thrum__adapt_unsent_forget((int)fd);
		thrum__adapt_descriptor_untold((int)fd);
		atomic_store_explicit(&thrum__adapt_accepters[fd], 0, memory_order_relaxed);
		atomic_store_explicit(&thrum__adapt_descriptors[fd], DESCRIPTOR_UNKNOWN,
			memory_order_relaxed);
	}
}

static void forget(int fd)
{
	if (fd >= 0)
		thrum__adapt_descriptors_forget((unsigned)fd, (unsigned)fd);
}

static void close_one(int fd, const void *caller)
{
	if ((unsigned)fd < DESCRIPTORS &&
		UNLIKELY(atomic_load_explicit(&thrum__adapt_accepters[fd], memory_order_relaxed)))
		thrum__adapt_accepts_closed(fd, caller);
	thrum__adapt_twice_closed(fd, caller);
	forget(fd);
}

static void share(int fd)
{
	thrum__adapt_tokens_end(fd);
	thrum__adapt_connection_forget(fd);
	if (!is_of_pipe(fd))
		return;
	thrum__adapt_pipe_use(fd);
	thrum__adapt_pipe_shared(fd);
}

/* The lock of a file may then be released by another descriptor. */
static void duplicate(int fd)
{
	if (fd >= 0)
		thrum__adapt_files_forget((unsigned)fd, (unsigned)fd);
	thrum__adapt_twice_doubled(fd);
	thrum__adapt_connection_doubled(fd);
	share(fd);
}

static void make_pipe(const int fds[2], const void *caller)
{
	forget(fds[0]);
	forget(fds[1]);
	thrum__adapt_pipe_made(fds[0], fds[1], "pipe", caller);
	thrum__adapt_limit_made(fds[0], caller);
	thrum__adapt_limit_made(fds[1], caller);
}

static void make_sockets(const int fds[2], const void *caller)
{
	forget(fds[0]);
	forget(fds[1]);
	thrum__adapt_pipe_made(fds[0], fds[1], "socket", caller);
	thrum__adapt_pipe_made(fds[1], fds[0], "socket", caller);
	thrum__adapt_limit_made(fds[0], caller);
	thrum__adapt_limit_made(fds[1], caller);
}

#define MAKES(name, parameters, arguments, made) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		int result = real_##name(CALLER) arguments; \
\
		/* Also before the recording starts. */ \
		if (result == 0 && is_chosen(ADAPTER_BLOCK) && !is_vforked()) \
			made; \
		return result; \
	}
#define CHANGES(type, name, parameters, arguments, before) \
	REAL(name) \
	STAND_IN type name parameters \
	{ \
		int error = errno; \
\
		if (!is_vforked()) \
			before; \
		errno = error; \
		return real_##name(CALLER) arguments; \
	}
/* It may write in several parts, and waits unseen where there is no room. */
#define PRINTS(name, parameters, arguments) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		if (LIKELY(!is_of_pipe(fd))) \
			return real_##name(CALLER) arguments; \
		thrum__adapt_pipe_use(fd); \
		int result = real_##name(CALLER) arguments; \
\
		if (result > 0) { \
			thrum__adapt_pipe_writes(fd, (size_t)result); \
			thrum__adapt_pipe_written(fd, CALLER); \
		} \
		return result; \
	}
#include "adapt/call/descriptors.def"

REAL(eventfd)

/* It is a pipe both of whose ends are one descriptor. */
STAND_IN int eventfd(unsigned count, int flags)
{
	int fd = real_eventfd(CALLER)(count, flags);

	if (fd >= 0 && is_chosen(ADAPTER_BLOCK)) {
		forget(fd);
		thrum__adapt_pipe_made(fd, fd, "eventfd", CALLER);
	}
	return fd;
}

/* The C library's writes unseen. */
STAND_IN int eventfd_write(int fd, eventfd_t value)
{
	return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}

STAND_IN int dprintf(int fd, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	int result = vdprintf(fd, format, list);

	va_end(list);
	return result;
}

STAND_IN int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	int result = __vdprintf_chk(fd, flag, format, list);

	va_end(list);
	return result;
}
