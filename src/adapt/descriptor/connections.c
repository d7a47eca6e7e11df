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

/* By descriptor: how often the program had started a process, + 1, when it connected this one to an address
 * of its own machine. 0: it didn't, or calls that aren't seen may use it. */
static _Atomic uint32_t connected[DESCRIPTORS];
static _Atomic bool has_connected;
static _Atomic uint32_t starts; /* of processes */

void thrum__adapt_connects(int fd, const struct sockaddr *peer)
{
	if ((unsigned)fd >= DESCRIPTORS || !peer || !thrum__adapt_is_here(peer))
		return;
	atomic_store(&connected[fd], atomic_load(&starts) + 1);
	atomic_store(&has_connected, true);
}

void thrum__adapt_connection_forget(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_store_explicit(&connected[fd], 0, memory_order_relaxed);
}

void thrum__adapt_connections_shared(void)
{
	atomic_fetch_add(&starts, 1);
}

static bool is_blocking(int fd)
{
	int flags = real_fcntl(NULL)(fd, F_GETFL);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

/* The end of an accepted connection that this process has, too, and alone; or -1. */
static int find_other(int fd)
{
	int before, other;

	/* Files are open meanwhile. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	other = is_blocking(fd) ? thrum__adapt_socket_peer(fd) : -1;
	if ((unsigned)other >= DESCRIPTORS ||
		atomic_load(&connected[other]) != atomic_load(&starts) + 1 || !is_blocking(other) ||
		thrum__adapt_socket_peer(other) != fd)
		other = -1;
	pthread_setcancelstate(before, NULL);
	return other;
}

void thrum__adapt_connection_accepted(int fd, const void *caller)
{
	int error = errno, other;

	if (LIKELY(!atomic_load_explicit(&has_connected, memory_order_relaxed)) || fd < 0 ||
		fd >= DESCRIPTORS)
		return;
	other = find_other(fd);
	if (other >= 0)
		thrum__adapt_pipe_joined(fd, other, caller);
	errno = error;
}
