/* SPDX-License-Identifier: ISC */
/*
 * Streams of the C library that have read more than the program has taken: poll() knows nothing of that. So
 * a thread that waits there for the next line may have it already. And streams that hold back what the
 * program has written to them: another process may wait for that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"

#define PART 512       /* bytes that are looked at, at once */
#define STREAMS_MAX 64 /* that are looked at */
#define PUTTING 0x800  /* in a stream's flags: it was written to last */

/* By descriptor: the stream that read from it last. It may be closed since, and its memory gone. */
static void *_Atomic streams[DESCRIPTORS];

void thrum__adapt_stream_reads(void *stream, int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_store_explicit(&streams[fd], stream, memory_order_relaxed);
}

#ifdef __GLIBC__
/* Whether there is the end of a line in the memory from … to - 1. */
static bool has_line(const char *from, const char *to)
{
	char part[PART];

	for (size_t size; from < to; from += size) {
		size = to - from < PART ? (size_t)(to - from) : PART;
		if (!thrum__adapt_process_copy(own_pid(), (uintptr_t)from, part, size))
			return false;
		if (memchr(part, '\n', size))
			return true;
	}
	return false;
}
#endif

bool thrum__adapt_stream_has_line(int fd)
{
#ifdef __GLIBC__
	void *stream = (unsigned)fd < DESCRIPTORS
		? atomic_load_explicit(&streams[fd], memory_order_relaxed)
		: NULL;
	int error = errno;
	bool has = false;
	FILE copy;

	if (!stream)
		return false;
	/* The thread that has it may close it meanwhile. */
	if (thrum__adapt_process_copy(own_pid(), (uintptr_t)stream, &copy, sizeof copy) &&
		copy._fileno == fd)
		has = has_line(copy._IO_read_ptr, copy._IO_read_end) &&
			!thrum__adapt_is_ready(fd, POLLIN);
	errno = error;
	return has;
#else
	(void)fd;
	return false;
#endif
}

/* ---- Bytes that are held back --------------------------------------------------------------------- */

#ifdef __GLIBC__
extern FILE *_IO_list_all;

/* Whether a process has this pipe, or socket, under a descriptor. */
static bool is_file(pid_t process, int fd, uint64_t inode)
{
	char path[64];
	struct stat file;

	thrum__adapt_process_descriptor(path, process, fd);
	return stat(path, &file) == 0 && file.st_ino == inode &&
		(S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode));
}
#endif

bool thrum__adapt_stream_has(pid_t process, int fd)
{
#ifdef __GLIBC__
	FILE *next = NULL, copy;

	if (!thrum__adapt_process_copy(process, (uintptr_t)&_IO_list_all, &next, sizeof next))
		return true;
	for (int i = 0; i < STREAMS_MAX && next; i++, next = copy._chain)
		if (!thrum__adapt_process_copy(process, (uintptr_t)next, &copy, sizeof copy) ||
			(copy._fileno == fd && copy._IO_buf_base))
			return true;
	return next != NULL;
#else
	(void)process, (void)fd;
	return true;
#endif
}

size_t thrum__adapt_stream_holds_back(pid_t process, uint64_t inode, int *fd)
{
#ifdef __GLIBC__
	FILE *next = NULL, copy;

	if (!thrum__adapt_process_is_copy(own_pid(), process) ||
		!thrum__adapt_process_copy(process, (uintptr_t)&_IO_list_all, &next, sizeof next))
		return 0;
	for (int i = 0; i < STREAMS_MAX && next; i++, next = copy._chain) {
		if (!thrum__adapt_process_copy(process, (uintptr_t)next, &copy, sizeof copy))
			return 0;
		*fd = copy._fileno;
		if (copy._flags & PUTTING && copy._IO_write_ptr > copy._IO_write_base && *fd >= 0 &&
			is_file(process, *fd, inode))
			return (size_t)(copy._IO_write_ptr - copy._IO_write_base);
	}
#else
	(void)process, (void)inode, (void)fd;
#endif
	return 0;
}
