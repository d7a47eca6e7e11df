/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/port.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

/* The kernel reads the new mask, and only then refuses the operation. */
bool thrum__port_can_read(const void *address)
{
	int error = errno;
	bool result = address &&
		(syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) == 0 ||
			errno != EFAULT);

	errno = error;
	return result;
}

size_t thrum__port_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the number in a file, or UINT64_MAX if there is none. */
static uint64_t number_in(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return got > 0 && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

uint64_t thrum__port_memory_size(void)
{
	static const char *const files[] = {"/sys/fs/cgroup/memory.max",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes"};
	uint64_t size = (uint64_t)sysconf(_SC_PHYS_PAGES) * thrum__port_page_size();
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < size)
		size = limit.rlim_cur;
	if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur < size)
		size = limit.rlim_cur;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		uint64_t most = number_in(files[i]);

		if (most < size)
			size = most;
	}
	return size;
}

void thrum__port_return_blocks(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void *thrum__port_allocate(size_t size)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

int thrum__port_populate(void *from, size_t size)
{
	int error = errno, result = 0;
	size_t before = (uintptr_t)from % thrum__port_page_size();

	if (madvise((uint8_t *)from - before, before + size, MADV_POPULATE_WRITE))
		switch (errno) {
		case EINVAL: result = -THRUM_E_SYSTEM; break;
		case EPERM:
		case EACCES:
		case ENOSYS: result = -THRUM_E_ACCESS; break;
		default: result = -THRUM_E_SPACE;
		}
	errno = error;
	return result;
}

/* ThreadSanitizer takes mmap() for writes to all of the memory, as the kernel's call isn't. */
bool thrum__port_map_over(void *to, size_t size, int flags, int fd, uint64_t offset)
{
	int rights = PROT_READ | PROT_WRITE;

	flags |= MAP_FIXED;
#ifdef SYS_mmap2
	return syscall(SYS_mmap2, to, size, rights, flags, fd, (size_t)(offset / 4096)) != -1;
#else
	return syscall(SYS_mmap, to, size, rights, flags, fd, offset) != -1;
#endif
}

void thrum__port_detach(void *from, size_t size)
{
	(void)thrum__port_map_over(from, size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void *thrum__port_allocate_shared(size_t size)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

void *thrum__port_alias(void *from, size_t size, void *to)
{
	int error = errno;
	/* An old size of 0 means: leave the old mapping as it is. */
	void *alias = to ? mremap(from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, to)
			 : mremap(from, 0, size, MREMAP_MAYMOVE);

	errno = error;
	return alias == MAP_FAILED ? NULL : alias;
}

void thrum__port_unmap(void *from, size_t size)
{
	munmap(from, size);
}

void thrum__port_unlock(void *from, size_t size)
{
	munlock(from, size);
}

void thrum__port_wipe_on_fork(void *page, size_t size)
{
	/* Kernels without it, or with larger pages, rely on the handler of fork() alone. */
	if (((uintptr_t)page | size) % thrum__port_page_size() == 0)
		madvise(page, size, MADV_WIPEONFORK);
}

__attribute__((no_sanitize("thread"))) void thrum__port_copy_shared(void *to, const void *from,
	size_t size)
{
	const volatile uint8_t *bytes = from;
	size_t i = 0;

	atomic_thread_fence(memory_order_seq_cst);
	for (; i + 8 <= size && (uintptr_t)bytes % 8 == 0; i += 8) {
		uint64_t word = *(const volatile uint64_t *)(const volatile void *)(bytes + i);

		memcpy((uint8_t *)to + i, &word, sizeof word);
	}
	for (; i < size; i++)
		((uint8_t *)to)[i] = bytes[i];
	atomic_thread_fence(memory_order_seq_cst);
}
