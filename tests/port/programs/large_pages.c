/* SPDX-License-Identifier: ISC */
/*
 * Loaded before libc (LD_PRELOAD), makes a program's pages as large as THRUM_TEST_PAGE says, 16384 or
 * 65536: the system tells that size, places mappings at its multiples, takes whole pages, and refuses
 * addresses and offsets in the middle of one, as a kernel with such pages does.
 */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* it would give mmap and mmap64 one name */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define POPULATE_READ 22 /* Linux 5.14 */
#define POPULATE_WRITE 23

static size_t page = 4096;

__attribute__((constructor)) static void start(void)
{
	const char *size = getenv("THRUM_TEST_PAGE");

	if (size)
		page = strtoul(size, NULL, 10);
}

static size_t whole(size_t size)
{
	return (size + page - 1) / page * page;
}

/* Whether an address or offset is one of a page. Else sets errno. */
static int begins_page(uintptr_t at)
{
	if (at % page == 0)
		return 1;
	errno = EINVAL;
	return 0;
}

static void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* Finds room for whole pages at a page's beginning. Returns MAP_FAILED if there is none. */
static uint8_t *reserve(size_t size)
{
	size_t more = size + page - 4096;
	uint8_t *got = MAP_FAILED;

	errno = ENOMEM;
	if (size && more >= size)
		got = map(NULL, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);
	if (got == MAP_FAILED)
		return got;
	size_t before = -(uintptr_t)got % page, behind = more - before - size;

	if (before)
		syscall(SYS_munmap, got, before);
	if (behind)
		syscall(SYS_munmap, got + before + size, behind);
	return got + before;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	/* Behind a file's end there is nothing that this kernel could map. */
	size_t taken = flags & MAP_ANONYMOUS ? whole(size) : size;
	void *place = at;

	if (!begins_page((uintptr_t)offset) || (flags & MAP_FIXED && !begins_page((uintptr_t)at)))
		return MAP_FAILED;
	if (!(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		place = reserve(whole(size));
	if (place == MAP_FAILED)
		return MAP_FAILED;
	void *got = map(place, taken, protection, flags | (place == at ? 0 : MAP_FIXED), fd,
		offset);

	if (got == MAP_FAILED && place != at) {
		int error = errno;

		syscall(SYS_munmap, place, whole(size));
		errno = error;
	}
	return got;
}

#ifndef mmap64 /* musl has one function only */
EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	return mmap(at, size, protection, flags, fd, offset);
}
#endif

EXPORT int munmap(void *at, size_t size)
{
	return begins_page((uintptr_t)at) ? (int)syscall(SYS_munmap, at, whole(size)) : -1;
}

EXPORT int mprotect(void *at, size_t size, int protection)
{
	return begins_page((uintptr_t)at) ? (int)syscall(SYS_mprotect, at, whole(size), protection)
					  : -1;
}

EXPORT int msync(void *at, size_t size, int flags)
{
	return begins_page((uintptr_t)at) ? (int)syscall(SYS_msync, at, whole(size), flags) : -1;
}

EXPORT int madvise(void *at, size_t size, int advice)
{
	/* Behind a file's end there is nothing that could be made present. */
	size_t taken = advice == POPULATE_READ || advice == POPULATE_WRITE ? size : whole(size);

	return begins_page((uintptr_t)at) ? (int)syscall(SYS_madvise, at, taken, advice) : -1;
}

EXPORT void *mremap(void *at, size_t before, size_t size, int flags, ...)
{
	void *to = NULL;

	if (flags & MREMAP_FIXED) {
		va_list arguments;

		va_start(arguments, flags);
		to = va_arg(arguments, void *);
		va_end(arguments);
	}
	if (!begins_page((uintptr_t)at) || !begins_page((uintptr_t)to))
		return MAP_FAILED;
	if (flags & MREMAP_MAYMOVE && !(flags & MREMAP_FIXED)) {
		to = reserve(whole(size));
		flags |= MREMAP_FIXED;
	}
	return to == MAP_FAILED ? to
				: (void *)syscall(SYS_mremap, at, before ? whole(before) : 0,
					  whole(size), flags, to);
}

EXPORT int getpagesize(void)
{
	return (int)page;
}

EXPORT long sysconf(int name)
{
	static long (*real)(int);

	if (name == _SC_PAGESIZE)
		return (long)page;
	if (!real)
		real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
	return real(name);
}
