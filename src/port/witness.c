/* SPDX-License-Identifier: ISC */
/*
 * Lets a file's time of change tell when the process that maps the file died, also of SIGKILL.
 *
 * The kernel marks each robust mutex that a dying thread holds (Documentation/locking/robust-futexes.rst).
 * The mark of one of ours lies in a page of the file. Once the mutex is taken, the page is mapped anew. So
 * the kernel's mark is the first write to that mapping, and by the first write a file system sets the time
 * of change. tmpfs has no such first write: there the time is that of an earlier one.
 *
 * The C library links the mutexes that a thread holds. The links lie in a page behind that of the file, of
 * which a child of any kind gets a copy. So a child never writes to its parent's links.
 */
#define _GNU_SOURCE
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

#define SECOND UINT64_C(1000000000) /* ns */
#define APART_MAX (10 * SECOND)     /* a file that seems older than this has another clock */

/* The mutex begins with its mark, and the links are behind so many bytes. */
#define MARK 16

static struct {
	pthread_mutex_t *mutex; /* NULL: none */
	uint8_t *page; /* that of the file; NULL: none so far, or its links are still in use */
	uint32_t pid;
} held;

static uint64_t ns_of(struct statx_timestamp time)
{
	return (uint64_t)time.tv_sec * SECOND + time.tv_nsec;
}

bool thrum__port_file_times(int fd, uint64_t *born, uint64_t *changed)
{
	struct statx status;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME | STATX_CTIME,
		    &status) != 0 ||
		(status.stx_mask & STATX_BTIME) == 0 ||
		ns_of(status.stx_mtime) > ns_of(status.stx_ctime))
		return false;
	*born = ns_of(status.stx_btime);
	*changed = ns_of(status.stx_mtime);
	return true;
}

/* Makes a mutex in the page, and takes it for this thread. */
static bool take(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	bool is_taken;

	if (pthread_mutexattr_init(&attributes) != 0)
		return false;
	is_taken = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
		pthread_mutex_init(mutex, &attributes) == 0 && pthread_mutex_lock(mutex) == 0;
	pthread_mutexattr_destroy(&attributes);
	return is_taken;
}

/* Maps the file's page, for the first time or anew. */
static bool map_page(const struct thrum__port_file *file, uint64_t offset)
{
	return thrum__port_file_map_at(file, offset, held.page, thrum__port_page_size());
}

uint64_t thrum__port_witness_begin(const struct thrum__port_file *file, uint64_t offset)
{
	size_t size = thrum__port_page_size();
	struct timespec now;
	uint64_t born, changed, time;

	clock_gettime(CLOCK_REALTIME, &now);
	time = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
	if (!thrum__port_file_times(file->fd, &born, &changed) || time + SECOND < born ||
		time > born + APART_MAX)
		return 0;
	if (!held.page || held.pid != thrum__port_pid())
		held.page = thrum__port_allocate(2 * size);
	held.pid = thrum__port_pid();
	held.mutex = NULL;
	if (!held.page || !map_page(file, offset))
		return 0;
	pthread_mutex_t *mutex = (pthread_mutex_t *)(void *)(held.page + size - MARK);

	if (take(mutex)) {
		held.mutex = mutex;
		return map_page(file, offset) ? born : 0;
	}
	/* The file's lock goes with its last mapping. */
	thrum__port_detach(held.page, size);
	return 0;
}

void thrum__port_witness_end(void)
{
	if (!held.mutex)
		return;
	/* Only its holder can release it. A child may look like its parent's thread. */
	bool is_released = held.pid == thrum__port_pid() && pthread_mutex_unlock(held.mutex) == 0;

	thrum__port_detach(held.page, thrum__port_page_size());
	held.mutex = NULL;
	if (!is_released)
		held.page = NULL;
}
