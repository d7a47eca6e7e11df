/* SPDX-License-Identifier: ISC */
/*
 * A wire between two hosts, simulated. Its clock is its own: what happens on it, and in which
 * order, follows from the seed alone, however busy the machine is. (In between it sleeps about as
 * long as its clock says, so that a trace shows the time.)
 */
#ifndef WIRE_H
#define WIRE_H

/* For uv.h, in strict C11. */
#define _GNU_SOURCE
#include <uv.h>

#include <thrum/promise.h>

/* An Ethernet frame, as far as we need it: ARP's, or a segment of TCP. */
struct frame {
	enum {
		ARP_REQUEST,
		ARP_REPLY,
		TCP
	} type;
	unsigned from_mac, to_mac; /* 0: to all */
	unsigned from_ip, to_ip;
	/* TCP's */
	bool syn, ack, fin;
	unsigned sequence, acknowledged;
	char text[32];
};

struct wire;

/* Receives a frame, at one end of the wire. The frame is the caller's. */
typedef void wire_receive(const struct frame *frame, void *data);

struct wire *wire_create(struct thrum_loop *loop, unsigned seed);
/* What is under way is lost. The uv loop must run once more. */
void wire_destroy(struct wire *wire);

/* Who listens at end 0 or 1. */
void wire_attach(struct wire *wire, int end, wire_receive *receive, void *data);

/* Sends a frame from one end to the other. Resolved when the card has sent it and is ready for the
 * next one: it may have arrived long before. */
struct thrum_promise *wire_send(struct wire *wire, int end, const struct frame *frame);

/* Milliseconds since the beginning, by the wire's clock. */
unsigned wire_now(const struct wire *wire);

#endif
