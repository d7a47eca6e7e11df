/* SPDX-License-Identifier: ISC */
/* A host with one card: ARP finds out who has an address, TCP talks to them. */
#ifndef STACK_H
#define STACK_H

#include "wire.h"

/* How ARP waits for a reply: arp.c tells the three apart. */
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
	struct neighbour *neighbours;   /* arp.c: whom it knows, or asks for */
	struct connection *connections; /* tcp.c */
	void (*accept)(
		struct connection *connection); /* what serves a new one; NULL: nobody does */
};

/* host.c */
struct thrum_promise *host_send(struct host *host, struct frame *frame);
void host_start(struct host *host);
void host_finish(struct host *host);

/* arp.c: resolved with the address' MAC (thrum_int). */
struct thrum_promise *arp_query(struct host *host, unsigned ip);
void arp_receive(struct host *host, const struct frame *frame);
void arp_finish(struct host *host);

/* tcp.c: resolved with a struct connection, which is the host's. */
struct thrum_promise *tcp_connect(struct host *host, unsigned ip);
/* Resolved when the other side has it. */
struct thrum_promise *tcp_send(struct connection *connection, const char *text);
struct thrum_promise *tcp_close(struct connection *connection);
/* Resolved with the next text, or with NULL when the other side has closed. */
struct thrum_promise *tcp_receive(struct connection *connection);
void tcp_segment(struct host *host, const struct frame *frame);
void tcp_finish(struct host *host);

#endif
