/* SPDX-License-Identifier: ISC */
/*
 * open(): of a FIFO, it waits until another opens the other end. A file that must not exist before is often
 * a lock: see call/lock_file.c.
 */
#define _GNU_SOURCE
/* They would give functions that are defined here other names. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "adapt/call/call.h"

/* Programs that are compiled with _FORTIFY_SOURCE call these. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

/* A call of one of both sorts. */
struct call {
	int (*open)(const char *path, int flags, ...); /* or NULL: */
	int (*openat)(int folder, const char *path, int flags, ...);
	const void *caller;
	int folder;
	const char *path;
	int flags;
	mode_t mode;
};

static int go(const struct call *call)
{
	return call->open ? call->open(call->path, call->flags, call->mode)
			  : call->openat(call->folder, call->path, call->flags, call->mode);
}

/* Whether it opens a FIFO, and may wait. Keeps errno. */
static NOINLINE bool is_fifo(const struct call *call)
{
	int error = errno;
	struct stat file;
	bool is = fstatat(call->folder, call->path, &file, AT_NO_AUTOMOUNT) == 0 &&
		S_ISFIFO(file.st_mode);

	errno = error;
	return is;
}

static inline bool may_wait_for_other(const struct call *call)
{
	return (call->flags & O_ACCMODE) != O_RDWR &&
		!(call->flags & (O_NONBLOCK | O_DIRECTORY | O_PATH | O_EXCL)) &&
		may_record(ADAPTER_BLOCK) && UNLIKELY(is_fifo(call));
}

bool (*_Atomic thrum__adapt_opens_also)(const void *caller, bool begins);

struct opening {
	struct wait wait; /* the first member */
	bool (*also)(const void *caller, bool begins);
};

/* Also when the thread is cancelled. */
static void end(struct opening *opening)
{
	int error = errno;

	if (opening->also)
		opening->also(opening->wait.caller, false);
	errno = error;
	thrum__adapt_wait_end(&opening->wait);
}

/* It may well wait for ever, as for the next one who comes. */
static NOINLINE int wait_in(const struct call *call)
{
	struct opening opening
		__attribute__((cleanup(end))) = {.also = atomic_load(&thrum__adapt_opens_also)};
	bool writes = (call->flags & O_ACCMODE) == O_WRONLY;
	char label[CALL_MAX] = "open ";
	const char *slash = strrchr(call->path, '/');

	strcat(label, thrum__adapt_fifo_is_own(call->path) ? "own FIFO " : "FIFO ");
	strncat(label, slash ? slash + 1 : call->path, 64);
	strcat(label, writes ? " to write" : " to read");
	(void)records_wait(ADAPTER_BLOCK); /* that in a fork's child may be the first */
	thrum__adapt_wait_outside(&opening.wait, THRUM_KIND_HANDLE, label, -1, call->caller);
	if (opening.also && !opening.also(call->caller, true))
		opening.also = NULL;
	return go(call);
}

static int open_file(const struct call *call)
{
	int fd = may_wait_for_other(call) ? wait_in(call) : go(call);

	if (LIKELY((call->flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))) {
		if (fd >= 0 && !(call->flags & O_PATH))
			thrum__adapt_lock_file_used(call->folder, call->path);
	} else if (is_chosen(ADAPTER_BLOCK)) {
		thrum__adapt_lock_file(call->folder, call->path, fd, call->caller);
	}
	return fd;
}

/* There is a mode only if the call may make a file. */
#define FIND_MODE \
	mode_t mode = 0; \
	va_list rest; \
\
	va_start(rest, flags); \
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) \
		mode = va_arg(rest, mode_t); \
	va_end(rest);

#define OPEN(name, checked) \
	REAL(name) \
	REAL(checked) \
	STAND_IN int name(const char *path, int flags, ...) \
	{ \
		FIND_MODE \
		return open_file(&(struct call){real_##name(CALLER), NULL, CALLER, AT_FDCWD, path, \
			flags, mode}); \
	} \
	STAND_IN int checked(const char *path, int flags) \
	{ \
		if (flags & O_CREAT) \
			return real_##checked(CALLER)(path, flags); \
		return open_file(&(struct call){real_##name(CALLER), NULL, CALLER, AT_FDCWD, path, \
			flags, 0}); \
	}
OPEN(open, __open_2)
OPEN(open64, __open64_2)

#define OPENAT(name, checked) \
	REAL(name) \
	REAL(checked) \
	STAND_IN int name(int folder, const char *path, int flags, ...) \
	{ \
		FIND_MODE \
		return open_file(&(struct call){NULL, real_##name(CALLER), CALLER, folder, path, \
			flags, mode}); \
	} \
	STAND_IN int checked(int folder, const char *path, int flags) \
	{ \
		if (flags & O_CREAT) \
			return real_##checked(CALLER)(folder, path, flags); \
		return open_file(&( \
			struct call){NULL, real_##name(CALLER), CALLER, folder, path, flags, 0}); \
	}
OPENAT(openat, __openat_2)
OPENAT(openat64, __openat64_2)
