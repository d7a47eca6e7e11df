/* SPDX-License-Identifier: ISC */
/* For sockets.c and datagrams.c: the ends of connections, and their numbers. */
#ifndef ADAPT_SOCKETS_H
#define ADAPT_SOCKETS_H

#include "adapt/descriptor/descriptor.h"
#include "format/format.h"

/* One end of a connection. */
struct end {
	uint8_t address[16]; /* of IPv6, or an inode */
	uint16_t port;
};

/* ---- sockets.c ---- */

/* Takes an address of IPv4 or IPv6; returns false if it is another. */
bool thrum__adapt_socket_take_address(const struct sockaddr *, struct end *);
/* Whether it is an address that each machine has for itself. */
bool thrum__adapt_socket_is_loopback(const struct end *);
/* Tells this machine from others, and loopback addresses in this network from those in others. */
uint64_t thrum__adapt_socket_machine(void);
/* The number of the connection between two ends, this process's first: the same in all processes, but for the
 * direction. order: how they compare. */
uint64_t thrum__adapt_socket_number(uint64_t machine, const struct end ends[2], int order);
/* Writes the key of the direction in which this process sends, or receives. */
void thrum__adapt_socket_key(uint64_t number, bool receives, struct thrum__connection_key *);
/* Whether each of its datagrams has an address of its own. */
bool thrum__adapt_socket_is_by_address(int fd);

/* ---- datagrams.c ---- */

/* The number of the only address with which such a socket talks; 0: there is none, or several. */
uint64_t thrum__adapt_datagram_peer(int fd);
/* The socket is closed, or connected. */
void thrum__adapt_datagrams_over(int fd);

#endif
