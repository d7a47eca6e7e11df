/* SPDX-License-Identifier: ISC */
/* The program's descriptors: whether a call waits, and their names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/descriptor/descriptor.h"

#define HIGH 960 /* a descriptor that is seldom given out, but below the usual limit */

_Atomic uint8_t thrum__adapt_descriptors[DESCRIPTORS];
/* A bit for each: this process has told it not to block. */
static _Atomic uint32_t told[DESCRIPTORS / 32];

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

static bool is_inet(int domain)
{
	return domain == AF_INET || domain == AF_INET6;
}

/* Whether other processes may have the open file, and so let it block at any time: it is a terminal, or a
 * pipe that isn't the program's own any more. Sockets are left out: servers write to them all the time. */
static bool may_others_change(int fd, mode_t mode)
{
	return S_ISCHR(mode) ||
		(S_ISFIFO(mode) &&
			(!is_of_pipe(fd) || thrum__adapt_pipe_is_shared(fd, false) ||
				thrum__adapt_pipe_is_shared(fd, true)));
}

static int sort_of(int fd)
{
	struct stat status;
	int sort;

	if (fstat(fd, &status) != 0)
		return DESCRIPTOR_UNKNOWN; /* the call will fail */
	if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode))
		return DESCRIPTOR_QUICK;
	sort = is_blocking(fd) || may_others_change(fd, status.st_mode) ? DESCRIPTOR_SLOW
									: DESCRIPTOR_QUICK;
	int type = S_ISSOCK(status.st_mode) ? option_of(fd, SO_TYPE) : 0;

	if (type == SOCK_STREAM || type == SOCK_SEQPACKET ||
		(type == SOCK_DGRAM && is_inet(option_of(fd, SO_DOMAIN))))
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

	if (is_limited())
		return false;
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

bool thrum__adapt_has_data(int fd)
{
	int size = 0;

	return ioctl(fd, FIONREAD, &size) == 0 && size > 0;
}

bool thrum__adapt_find_wait(int fd, short events)
{
	int error = errno;
	bool waits = find_out(fd, events);

	errno = error;
	return waits;
}

void thrum__adapt_descriptor_changes(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_fetch_and(&thrum__adapt_descriptors[fd],
			DESCRIPTOR_PIPE | DESCRIPTOR_SOCKET | DESCRIPTOR_FULL | DESCRIPTOR_OUTSIDE |
				DESCRIPTOR_TOKENS);
}

void thrum__adapt_descriptor_told(int fd, bool is_quick)
{
	uint32_t bit = UINT32_C(1) << (unsigned)fd % 32;

	if ((unsigned)fd >= DESCRIPTORS)
		return;
	thrum__adapt_descriptor_changes(fd);
	if (is_quick)
		atomic_fetch_or(&told[fd / 32], bit);
	else
		thrum__adapt_descriptor_untold(fd);
}

void thrum__adapt_descriptor_untold(int fd)
{
	uint32_t bit = UINT32_C(1) << (unsigned)fd % 32;

	if (UNLIKELY(atomic_load_explicit(&told[fd / 32], memory_order_relaxed) & bit))
		atomic_fetch_and(&told[fd / 32], ~bit);
}

bool thrum__adapt_is_changed(int fd)
{
	return (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&told[fd / 32], memory_order_relaxed) &
		(UINT32_C(1) << (unsigned)fd % 32) &&
		is_blocking(fd);
}

bool thrum__adapt_is_outside(int fd)
{
	return fd >= 0 && !thrum__adapt_is_timer(fd) &&
		(!is_of_pipe(fd) || thrum__adapt_pipe_is_shared(fd, false) ||
			thrum__adapt_pipe_is_shared(fd, true));
}

void thrum__adapt_epoll_asks(int epoll, int fd)
{
	if ((unsigned)epoll < DESCRIPTORS && thrum__adapt_is_outside(fd))
		atomic_fetch_or(&thrum__adapt_descriptors[epoll], DESCRIPTOR_OUTSIDE);
}

bool thrum__adapt_epoll_is_outside(int epoll)
{
	return (unsigned)epoll < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[epoll], memory_order_relaxed) &
		DESCRIPTOR_OUTSIDE;
}

int thrum__adapt_hide(long low, bool is_single)
{
	long high = low;

	if (low >= 0 && !is_single) {
		high = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, HIGH);
		syscall(SYS_close, low);
	}
	return (int)high;
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
