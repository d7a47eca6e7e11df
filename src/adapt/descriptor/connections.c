/* SPDX-License-Identifier: ISC */
/*
 * Connections of a program to itself: one of its threads connects, and another one accepts. Such a connection
 * is a pair of sockets, whose ends nobody else has: as long as both of them block, and no process was started
 * meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "adapt/descriptor/descriptor.h"

REAL(fcntl)

#define ASKERS_MAX 32 /* that wait at one address: more are too many to compare */

/* By descriptor: how often the program had started a process, + 1, when it connected this one to an address
 * of its own machine, and the hash of that. 0: it didn't, its other end is known, or calls that aren't seen
 * may use it. */
static _Atomic uint32_t connected[DESCRIPTORS];
static _Atomic uint64_t addresses[DESCRIPTORS];
/* One was duplicated before it was connected, so nobody knows who has the ends. */
static _Atomic bool are_doubled;
static _Atomic int fds_used;    /* no descriptor from this one on was connected so */
static _Atomic uint32_t starts; /* of processes */

static bool is_blocking(int fd)
{
	int flags = real_fcntl(NULL)(fd, F_GETFL);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

void thrum__adapt_connects(int fd, const struct sockaddr *peer, socklen_t size)
{
	if (is_socket(fd))
		thrum__adapt_socket_connects(fd);
	if ((unsigned)fd >= DESCRIPTORS || !peer || !thrum__adapt_is_here(peer))
		return;
	atomic_store(&addresses[fd], thrum__adapt_address_hash(peer, size));
	atomic_store(&connected[fd], atomic_load(&starts) + 1);
	raise_to(&fds_used, fd + 1);
}

void thrum__adapt_connection_forget(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_store_explicit(&connected[fd], 0, memory_order_relaxed);
}

/* Whether it is a socket that may be connected later. */
static bool is_unconnected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof peer, type_size = sizeof(int);
	int type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM &&
		getpeername(fd, (struct sockaddr *)&peer, &size) != 0 && errno == ENOTCONN &&
		!thrum__adapt_listens(fd);
}

void thrum__adapt_connection_doubled(int fd)
{
	int error = errno;

	if (!is_limited() && is_unconnected(fd))
		atomic_store(&are_doubled, true);
	thrum__adapt_connection_forget(fd);
	errno = error;
}

void thrum__adapt_connections_shared(void)
{
	atomic_fetch_add(&starts, 1);
}

/* Finds the descriptors that were connected to the address of an accepted connection. Returns how many. */
static unsigned find_askers(int fd, int askers[ASKERS_MAX])
{
	struct sockaddr_storage own;
	socklen_t size = sizeof own;
	uint32_t now = atomic_load(&starts) + 1;
	uint64_t hash = getsockname(fd, (struct sockaddr *)&own, &size) == 0
		? thrum__adapt_address_hash((struct sockaddr *)&own, size)
		: 0;
	unsigned count = 0;

	for (int i = 0, used = atomic_load(&fds_used); i < used && hash && count < ASKERS_MAX; i++)
		if (atomic_load_explicit(&connected[i], memory_order_relaxed) == now &&
			atomic_load_explicit(&addresses[i], memory_order_relaxed) == hash)
			askers[count++] = i;
	return count;
}

/* The end of an accepted connection that this process has, too, and alone; or -1. */
static int find_other(int fd)
{
	int before, other, askers[ASKERS_MAX];

	/* Files are open meanwhile. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	other = thrum__adapt_socket_peer_among(fd, askers, find_askers(fd, askers));
	/* Nobody has to look at this one again. */
	if (other >= 0)
		thrum__adapt_connection_forget(other);
	if (other >= 0 && (!is_blocking(fd) || !is_blocking(other)))
		other = -1;
	pthread_setcancelstate(before, NULL);
	return other;
}

void thrum__adapt_connection_accepted(int fd, const void *caller)
{
	int error = errno, other;

	if (LIKELY(atomic_load_explicit(&fds_used, memory_order_relaxed) == 0) ||
		atomic_load(&are_doubled) || fd < 0 || fd >= DESCRIPTORS)
		return;
	other = find_other(fd);
	if (other >= 0)
		thrum__adapt_pipe_joined(fd, other, caller);
	errno = error;
}
