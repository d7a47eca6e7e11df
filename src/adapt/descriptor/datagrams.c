/* SPDX-License-Identifier: ISC */
/*
 * Datagrams with an address, between two sockets of this machine. Each pair of addresses counts as a
 * connection, as if both sockets were connected. Only loopback is looked at: a socket that talks to another
 * machine is left alone.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "adapt/descriptor/sockets.h"

#define MANY_PEERS UINT64_MAX

/* By descriptor: the number of the only peer; 0: there is none; or MANY_PEERS. */
static _Atomic uint64_t peers[FDS_MAX];

/* A thread's latest sockets, as it takes calls to find out these. */
static __thread struct known {
	int fd;
	uint32_t turn;
	struct end own; /* port 0: it is free */
	uint64_t machine;
} known[4] __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t turn; /* changes when sockets are closed, or connected */

uint64_t thrum__adapt_datagram_peer(int fd)
{
	uint64_t number = fd < FDS_MAX ? atomic_load(&peers[fd]) : 0;

	return number == MANY_PEERS ? 0 : number;
}

void thrum__adapt_datagrams_over(int fd)
{
	atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
	if (fd < FDS_MAX)
		atomic_store_explicit(&peers[fd], 0, memory_order_relaxed);
}

/* NULL: the socket has no port so far. */
static const struct known *find_socket(int fd)
{
	struct known *socket = &known[(unsigned)fd % 4];
	uint32_t now = atomic_load_explicit(&turn, memory_order_relaxed);
	struct sockaddr_storage own;
	socklen_t size = sizeof own;

	if (socket->own.port && socket->fd == fd && socket->turn == now)
		return socket;
	*socket = (struct known){.fd = fd, .turn = now};
	if (getsockname(fd, (struct sockaddr *)&own, &size) != 0 ||
		!thrum__adapt_socket_take_address((struct sockaddr *)&own, &socket->own) ||
		socket->own.port == 0)
		return NULL;
	socket->machine = thrum__adapt_socket_machine();
	return socket;
}

/* 0: the socket has no port so far, or talks to itself. */
static uint64_t find_number(int fd, const struct end *peer)
{
	const struct known *socket = find_socket(fd);
	struct end ends[2];
	int order;

	if (!socket)
		return 0;
	ends[0] = socket->own;
	ends[1] = *peer;
	/* It may be bound to all addresses. Then its own is that of the peer. */
	if (!thrum__adapt_socket_is_loopback(&ends[0]))
		memcpy(ends[0].address, peer->address, sizeof peer->address);
	order = memcmp(&ends[0], &ends[1], sizeof ends[0]);
	return order != 0 ? thrum__adapt_socket_number(socket->machine, ends, order) : 0;
}

bool thrum__adapt_datagram(int fd, bool receives, const struct sockaddr *peer, socklen_t size)
{
	struct thrum__connection_key key;
	uint64_t number = 0, none = 0;
	struct end end;
	int error = errno;

	if (fd >= FDS_MAX || size < sizeof(struct sockaddr_in) ||
		(peer->sa_family == AF_INET6 && size < sizeof(struct sockaddr_in6)) ||
		!thrum__adapt_socket_is_by_address(fd) ||
		!thrum__adapt_socket_take_address(peer, &end))
		return false;
	if (thrum__adapt_socket_is_loopback(&end))
		number = find_number(fd, &end);
	else if (atomic_load(&peers[fd]) == 0)
		atomic_fetch_and(&thrum__adapt_descriptors[fd], (uint8_t)~DESCRIPTOR_SOCKET);
	errno = error;
	if (!number)
		return false;
	if (!atomic_compare_exchange_strong(&peers[fd], &none, number) && none != number)
		atomic_store(&peers[fd], MANY_PEERS);
	thrum__adapt_socket_key(number, receives, &key);
	if (receives)
		thrum_link_receive(&key, sizeof key);
	else
		thrum_link_send(&key, sizeof key);
	return true;
}
