/* SPDX-License-Identifier: ISC */
/*
 * Sockets that listen, and the threads that accept from them. A thread that connects to one of this program
 * waits for the thread that accepts, which may do something else; so does one that reads while its connection
 * is in the queue. And a thread that waits to accept isn't woken when another one closes the socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "adapt/call/call.h"
#include "adapt/relatives/ends.h"
#include "port/port.h"

REAL(poll)

#define SEVERAL UINT32_MAX
/* ms until the first look at a queue. The accepter looks at other times: to it a thread that looks isn't
 * asleep. */
#define QUEUE_FIRST (LOOK_FIRST * 3 / 2)

/* By descriptor: the thread that accepts from it, and a hash of its address (0: not known). */
_Atomic uint32_t thrum__adapt_accepters[DESCRIPTORS];
static _Atomic uint64_t addresses[DESCRIPTORS];
static _Atomic int fds_used; /* no descriptor from this one on has been noted */

/* ---- Addresses --------------------------------------------------------------------------------- */

/* The address in which a socket listens for all of its machine's is as good as any: so the hash of one with
 * a port has the port alone. 0: it has none. */
static uint64_t hash_of(const struct sockaddr *address, socklen_t size)
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

/* Whether it is on this machine: as far as a port alone tells. */
static bool is_here(const struct sockaddr *address)
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
	int used = atomic_load(&fds_used), error = errno;

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		size = 0;
	atomic_store(&addresses[fd], size > 0 ? hash_of((struct sockaddr *)&address, size) : 0);
	while (used <= fd && !atomic_compare_exchange_weak(&fds_used, &used, fd + 1))
		;
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

thrum_task thrum__adapt_accepter(const struct sockaddr *address, socklen_t size)
{
	uint64_t hash = is_here(address) ? hash_of(address, size) : 0;
	uint32_t tid = 0;

	for (int fd = 0; fd < atomic_load(&fds_used) && hash && tid != SEVERAL; fd++)
		if (atomic_load(&thrum__adapt_accepters[fd]) && atomic_load(&addresses[fd]) == hash)
			tid = tid ? SEVERAL : atomic_load(&thrum__adapt_accepters[fd]);
	for (const struct thread *t = thrum__adapt_threads(); t && tid; t = t->next)
		if (atomic_load(&t->tid) == tid && atomic_load(&t->recording) == thrum__recording())
			return atomic_load(&t->task);
	return THRUM_TASK_NONE;
}

void thrum__adapt_accepts_left(void)
{
	for (int fd = 0; fd < atomic_load(&fds_used); fd++)
		atomic_store(&thrum__adapt_accepters[fd], 0);
}

/* ---- Connections in the queue ------------------------------------------------------------------ */

/* The only thread that may accept the connection of a Unix socket, if none has; else NONE. */
static thrum_task queued_for(int fd)
{
	struct sockaddr_un peer;
	socklen_t size = sizeof peer;
	thrum_task accepter = THRUM_TASK_NONE;

	if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sun_family == AF_UNIX &&
		size <= sizeof peer)
		accepter = thrum__adapt_accepter((struct sockaddr *)&peer, size);
	return accepter && thrum__adapt_socket_is_queued(fd) ? accepter : THRUM_TASK_NONE;
}

bool thrum__adapt_accept_is_due(int fd)
{
	int error = errno, before;
	bool is_due = atomic_load_explicit(&fds_used, memory_order_relaxed) != 0 &&
		thrum__adapt_socket_limit(fd, false) == ENDLESS && !thrum__adapt_may_interrupt();

	if (is_due) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		is_due = queued_for(fd) != THRUM_TASK_NONE;
		pthread_setcancelstate(before, NULL);
	}
	errno = error;
	return is_due;
}

void thrum__adapt_accept_wait(struct wait *wait, const char *verb, int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	_Atomic uintptr_t *looker LOOKER = NULL;
	thrum_task told = THRUM_TASK_NONE, accepter;
	int pause = QUEUE_FIRST, error = errno, before;
	char label[CALL_MAX];

	thrum__adapt_socket_receive(fd);
	looker = thrum__adapt_note_looker(&one, false);
	do {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		accepter = queued_for(fd);
		if (pause > QUEUE_FIRST && accepter != told) {
			told = accepter;
			thrum__adapt_wait_end(wait);
			thrum__adapt_put_call(label, verb, fd);
			thrum__adapt_wait_make(wait, told ? THRUM_KIND_REQUEST : THRUM_KIND_HANDLE,
				label, wait->caller);
			if (told)
				thrum_task_wait(wait->source, told);
			thrum__adapt_wait_go(wait, &thrum__adapt_outside);
			thrum__adapt_socket_receive(fd);
		}
		pthread_setcancelstate(before, NULL);
		if (!accepter || real_poll(NULL)(&one, 1, pause) != 0)
			break;
		pause = pause < LOOK_LAST ? pause * 2 : pause;
	} while (true);
	errno = error;
}

/* ---- Processes that ask ------------------------------------------------------------------------- */

bool thrum__adapt_accepts_alone(void)
{
	uint32_t tid = thrum__port_tid();

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
	int unread = 0;

	return getsockname(fd, (struct sockaddr *)&own, &size) == 0 && own.sun_family == AF_UNIX &&
		thrum__adapt_accepter((struct sockaddr *)&own, size) == thrum_task_current() &&
		ioctl(fd, FIONREAD, &unread) == 0 && unread > 0;
}

/* The socket from which the calling thread alone accepts, and which has this inode; -1: there is none. */
static int find_own(uint64_t inode)
{
	uint32_t tid = thrum__port_tid();
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

/* ---- Closing ----------------------------------------------------------------------------------- */

/* Whether a thread of this process waits to accept from a descriptor. */
static bool waits_to_accept(uint32_t tid, int fd)
{
	struct process_call call;

	return thrum__adapt_process_call(getpid(), tid, &call) &&
		(call.number == SYS_accept || call.number == SYS_accept4) &&
		(int)call.arguments[0] == fd;
}

static void end_told(struct thread *thread)
{
	uint64_t task = atomic_exchange(&thread->unwoken, 0);

	if (task && atomic_load(&thread->recording) == thrum__recording())
		thrum_task_resolve(task);
}

static void tell_closed(struct thread *thread, int fd, const void *caller)
{
	char label[CALL_MAX + PLACE_MAX + 40];
	thrum_task task, waits = atomic_load(&thread->outside);

	thrum__adapt_put_call(label, "wake-up of accept from", fd);
	thrum__adapt_label(label + strlen(label), ", closed by", caller);
	task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK, label);
	thrum_task_should_resolve(task);
	thrum_task_wait(waits, task);
	atomic_store(&thread->unwoken, task);
	/* It may have been woken meanwhile. */
	if (!waits_to_accept(atomic_load(&thread->tid), fd))
		end_told(thread);
}

void thrum__adapt_accepts_closed(int fd, const void *caller)
{
	int error = errno, before;

	if (!is_on(ADAPTER_BLOCK) || thrum__adapt_is_beside)
		return;
	/* A file is open meanwhile. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next) {
		uint32_t tid = atomic_load(&t->tid);

		if (tid && atomic_load(&t->recording) == thrum__recording() &&
			!atomic_load(&t->unwoken) && waits_to_accept(tid, fd))
			tell_closed(t, fd, caller);
	}
	pthread_setcancelstate(before, NULL);
	errno = error;
}

void thrum__adapt_accept_over(void)
{
	struct thread *self = thrum__adapt_self;

	if (self && UNLIKELY(atomic_load_explicit(&self->unwoken, memory_order_relaxed) != 0))
		end_told(self);
}
