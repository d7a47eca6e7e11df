/* SPDX-License-Identifier: ISC */
/* A host with one card. ARP finds the host that has an address; TCP talks to it. */
#ifndef STACK_H
#define STACK_H

#include "wire.h"

/* The ways in which ARP waits for a reply; see arp.c. */
enum arp_way {
	ARP_BUG,
	ARP_FIXED_ORDER,
	ARP_FIXED_PROMISE,
};

struct host {
	struct thrum_loop *loop;
	struct wire *wire;
	int end; /* of the wire */
	unsigned mac, ip;
	enum arp_way way;
	struct neighbour *neighbours;   /* arp.c: the hosts that it knows or asks for */
	struct connection *connections; /* tcp.c */
	void (*accept)(
		struct connection *connection); /* serves a new connection; NULL: nobody does */
};

/* host.c */
struct thrum_promise *host_send(struct host *host, struct frame *frame);
void host_start(struct host *host);
void host_finish(struct host *host);

/* arp.c: returns a promise for the MAC address (thrum_int). */
struct thrum_promise *arp_query(struct host *host, unsigned ip);
void arp_receive(struct host *host, const struct frame *frame);
void arp_finish(struct host *host);

/* tcp.c: returns a promise for a struct connection, which belongs to the host. */
struct thrum_promise *tcp_connect(struct host *host, unsigned ip);
/* Returns a promise that is resolved when the other side has the text. */
struct thrum_promise *tcp_send(struct connection *connection, const char *text);
struct thrum_promise *tcp_close(struct connection *connection);
/* Returns a promise for the next text, or for NULL when the other side has closed. */
struct thrum_promise *tcp_receive(struct connection *connection);
void tcp_segment(struct host *host, const struct frame *frame);
void tcp_finish(struct host *host);

#endif
