/* SPDX-License-Identifier: ISC */
/*
 * The threads that accept from sockets that listen. Where one thread alone does so, whoever connects waits
 * for that thread: another one of the program, or another process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "adapt/descriptor/descriptor.h"
#include "port/port.h"

/* By descriptor: the thread that accepts from it, and a hash of its address (0: not known). */
_Atomic uint32_t thrum__adapt_accepters[DESCRIPTORS];
static _Atomic uint64_t addresses[DESCRIPTORS];
static _Atomic int fds_used; /* no descriptor from this one on has been noted */

bool thrum__adapt_has_accepters(void)
{
	return atomic_load_explicit(&fds_used, memory_order_relaxed) != 0;
}

/* ---- Addresses --------------------------------------------------------------------------------- */

uint64_t thrum__adapt_address_hash(const struct sockaddr *address, socklen_t size)
{
	const struct sockaddr_un *un = (const void *)address;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (address->sa_family == AF_INET)
		return (uint64_t)((const struct sockaddr_in *)(const void *)address)->sin_port;
	if (address->sa_family == AF_INET6)
		return (uint64_t)((const struct sockaddr_in6 *)(const void *)address)->sin6_port;
	if (address->sa_family != AF_UNIX || size <= offsetof(struct sockaddr_un, sun_path))
		return 0;
	size -= offsetof(struct sockaddr_un, sun_path);
	/* The length of a path may count its NUL, or not. */
	if (un->sun_path[0] != '\0')
		size = (socklen_t)strnlen(un->sun_path, size);
	for (socklen_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)un->sun_path[i]) * UINT64_C(0x100000001b3);
	return hash;
}

bool thrum__adapt_is_here(const struct sockaddr *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	return address->sa_family == AF_INET     ? ntohl(four->sin_addr.s_addr) >> 24 == 127
		: address->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
						 : address->sa_family == AF_UNIX;
}

/* ---- Accepting --------------------------------------------------------------------------------- */

static void note_address(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof address;
	int error = errno;

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		size = 0;
	atomic_store(&addresses[fd],
		size > 0 ? thrum__adapt_address_hash((struct sockaddr *)&address, size) : 0);
	raise_to(&fds_used, fd + 1);
	errno = error;
}

void thrum__adapt_accepts(int fd)
{
	struct thread *self = thrum__adapt_thread();
	uint32_t tid = self ? atomic_load(&self->tid) : 0, before = 0;

	if ((unsigned)fd >= DESCRIPTORS || !tid ||
		atomic_load_explicit(&thrum__adapt_accepters[fd], memory_order_relaxed) == tid)
		return;
	if (atomic_compare_exchange_strong(&thrum__adapt_accepters[fd], &before, tid))
		note_address(fd);
	else
		atomic_store(&thrum__adapt_accepters[fd], SEVERAL);
}

/* Whether threads accept from a descriptor connections to the address with that hash. */
static bool is_at(int fd, uint64_t hash)
{
	return atomic_load(&thrum__adapt_accepters[fd]) && atomic_load(&addresses[fd]) == hash;
}

int thrum__adapt_accepts_at(const struct sockaddr *address, socklen_t size)
{
	uint64_t hash = thrum__adapt_is_here(address) ? thrum__adapt_address_hash(address, size)
						      : 0;

	for (int fd = 0; fd < atomic_load(&fds_used) && hash; fd++)
		if (is_at(fd, hash))
			return fd;
	return -1;
}

thrum_task thrum__adapt_accepter(const struct sockaddr *address, socklen_t size)
{
	uint64_t hash = thrum__adapt_is_here(address) ? thrum__adapt_address_hash(address, size)
						      : 0;
	const struct thread *thread;
	uint32_t tid = 0;

	for (int fd = 0; fd < atomic_load(&fds_used) && hash && tid != SEVERAL; fd++)
		if (is_at(fd, hash))
			tid = tid ? SEVERAL : atomic_load(&thrum__adapt_accepters[fd]);
	thread = thrum__adapt_thread_of(tid);
	return thread && atomic_load(&thread->recording) == thrum__recording()
		? atomic_load(&thread->task)
		: THRUM_TASK_NONE;
}

void thrum__adapt_accepts_left(void)
{
	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		atomic_store(&thrum__adapt_accepters[fd], 0);
}

/* ---- Processes that ask ------------------------------------------------------------------------- */

bool thrum__adapt_accepts_alone(void)
{
	uint32_t tid = own_tid();

	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		if (atomic_load(&thrum__adapt_accepters[fd]) == tid)
			return true;
	return false;
}

/* Whether a connection is one to a socket from which the calling thread alone accepts, and what came over it
 * is unread. */
static bool is_left_here(int fd)
{
	struct sockaddr_un own;
	socklen_t size = sizeof own;

	return getsockname(fd, (struct sockaddr *)&own, &size) == 0 && own.sun_family == AF_UNIX &&
		thrum__adapt_accepter((struct sockaddr *)&own, size) == thrum_task_current() &&
		thrum__adapt_has_data(fd);
}

/* The socket from which the calling thread alone accepts, and which has this inode; -1: there is none. */
static int find_own(uint64_t inode)
{
	uint32_t tid = own_tid();
	struct stat file;

	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		if (atomic_load(&thrum__adapt_accepters[fd]) == tid && fstat(fd, &file) == 0 &&
			file.st_ino == inode)
			return fd;
	return -1;
}

int thrum__adapt_asked_by(uint64_t socket, bool *is_queued)
{
	uint64_t other;
	int end;

	if (!thrum__adapt_socket_other(socket, &other, is_queued))
		return -1;
	if (*is_queued)
		return find_own(other);
	end = thrum__adapt_socket_of(other);
	return end >= 0 && is_left_here(end) ? end : -1;
}
