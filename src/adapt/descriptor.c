/* SPDX-License-Identifier: ISC */
/* The program's descriptors, and the calls that make and close them. */
#define _GNU_SOURCE
/* They would give functions that are defined here other names. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapt/descriptor.h"

_Atomic uint8_t thrum__adapt_descriptors[DESCRIPTORS];

/* Programs that are compiled with _FORTIFY_SOURCE call these. */
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);

REAL(poll)
REAL(fcntl)

/* ---- Whether a call waits ------------------------------------------------------------------- */

static bool is_blocking(int fd)
{
	int flags = real_fcntl(NULL)(fd, F_GETFL);

	return flags >= 0 && !(flags & (O_NONBLOCK | O_PATH));
}

static int option_of(int socket, int option)
{
	int value = 0;
	socklen_t size = sizeof value;

	return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

static int sort_of(int fd)
{
	struct stat status;
	int sort;

	if (fstat(fd, &status) != 0)
		return DESCRIPTOR_UNKNOWN; /* the call will fail */
	if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode))
		return DESCRIPTOR_QUICK;
	sort = is_blocking(fd) ? DESCRIPTOR_SLOW : DESCRIPTOR_QUICK;
	if (S_ISSOCK(status.st_mode) && option_of(fd, SO_TYPE) == SOCK_STREAM)
		sort |= DESCRIPTOR_SOCKET;
	if (S_ISSOCK(status.st_mode) && sort & DESCRIPTOR_SLOW && option_of(fd, SO_RCVLOWAT) > 1)
		sort |= DESCRIPTOR_LOW;
	return sort;
}

static bool is_ready(int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	return real_poll(NULL)(&one, 1, 0) != 0;
}

bool thrum__adapt_is_ready(int fd, short events)
{
	int error = errno;
	bool ready = is_ready(fd, events);

	errno = error;
	return ready;
}

static bool find_out(int fd, short events)
{
	_Atomic uint8_t *known = &thrum__adapt_descriptors[fd];

	if (!(atomic_load(known) & (DESCRIPTOR_QUICK | DESCRIPTOR_SLOW)))
		atomic_fetch_or(known, (uint8_t)sort_of(fd));
	if (!(atomic_load(known) & DESCRIPTOR_SLOW) || (events && is_ready(fd, events)))
		return false;
	/* It may have changed since. */
	if (is_blocking(fd))
		return true;
	thrum__adapt_descriptor_changes(fd);
	return false;
}

bool thrum__adapt_would_wait(int fd, short events)
{
	int error = errno;
	bool waits = find_out(fd, events);

	errno = error;
	return waits;
}

bool thrum__adapt_waits_for_more(int fd)
{
	_Atomic uint8_t *known = &thrum__adapt_descriptors[fd];

	if (!(atomic_load(known) & (DESCRIPTOR_QUICK | DESCRIPTOR_SLOW)))
		thrum__adapt_would_wait(fd, 0);
	return atomic_load(known) & DESCRIPTOR_LOW;
}

void thrum__adapt_descriptor_changes(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_fetch_and(&thrum__adapt_descriptors[fd],
			DESCRIPTOR_PIPE | DESCRIPTOR_SOCKET);
}

void thrum__adapt_descriptors_forget(unsigned first, unsigned last)
{
	leave_limit();
	thrum__adapt_watches_forget(first, last);
	thrum__adapt_files_forget(first, last);
	for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++) {
		if (is_of_pipe((int)fd))
			thrum__adapt_pipe_closed((int)fd);
		if (is_socket((int)fd))
			thrum__adapt_socket_forget(fd);
		thrum__adapt_limit_made((int)fd, NULL);
		atomic_store_explicit(&thrum__adapt_accepters[fd], 0, memory_order_relaxed);
		atomic_store_explicit(&thrum__adapt_descriptors[fd], DESCRIPTOR_UNKNOWN,
			memory_order_relaxed);
	}
}

/* ---- Their names ---------------------------------------------------------------------------- */

static const char *noun_of(int fd)
{
	struct stat status;
	char link[] = "/proc/self/fd/0123456789", target[32];
	ssize_t length;

	if (fstat(fd, &status) != 0)
		return "descriptor";
	if (S_ISFIFO(status.st_mode))
		return "pipe";
	if (S_ISSOCK(status.st_mode))
		return "socket";
	if (S_ISCHR(status.st_mode))
		return isatty(fd) ? "terminal" : "device";
	if (status.st_mode & S_IFMT)
		return "file";
	*thrum__adapt_put_number(strchr(link, '0'), (uint64_t)fd) = '\0';
	length = readlink(link, target, sizeof target - 1);
	target[length > 0 ? length : 0] = '\0';
	return strstr(target, "[eventfd]")    ? "eventfd"
		: strstr(target, "[timerfd]") ? "timerfd"
		: strstr(target, "inotify")   ? "inotify"
					      : "descriptor";
}

void thrum__adapt_put_call(char to[CALL_MAX], const char *verb, int fd)
{
	int error = errno;

	to = stpcpy(stpcpy(to, verb), " ");
	to = stpcpy(stpcpy(to, noun_of(fd)), " ");
	*thrum__adapt_put_number(to, (uint64_t)fd) = '\0';
	errno = error;
}

bool thrum__adapt_put_name(char to[CALL_MAX], const char *verb, int fd)
{
	char link[] = "/proc/self/fd/0123456789", path[1024];
	int error = errno;
	ssize_t length;

	if (fd < 0)
		return false;
	*thrum__adapt_put_number(strchr(link, '0'), (uint64_t)fd) = '\0';
	length = readlink(link, path, sizeof path);
	errno = error;
	path[length > 0 && (size_t)length < sizeof path ? length : 0] = '\0';
	const char *name = strrchr(path, '/');

	if (!name || strlen(name) + strlen(verb) >= CALL_MAX)
		return false;
	strcpy(stpcpy(stpcpy(to, verb), " "), name + 1);
	return true;
}

void thrum__adapt_put_file(char to[CALL_MAX], const char *verb, int fd)
{
	if (!thrum__adapt_put_name(to, verb, fd))
		thrum__adapt_put_call(to, verb, fd);
}

/* ---- Calls that make and close them ---------------------------------------------------------- */

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
	forget(fd);
}

static void share(int fd)
{
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
		if (result == 0 && is_chosen(ADAPTER_BLOCK)) \
			made; \
		return result; \
	}
#define CHANGES(type, name, parameters, arguments, before) \
	REAL(name) \
	STAND_IN type name parameters \
	{ \
		int error = errno; \
\
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
			thrum__adapt_pipe_gives(fd, (size_t)result); \
			thrum__adapt_pipe_written(fd); \
		} \
		return result; \
	}
#include "adapt/descriptor.def"

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
