/* SPDX-License-Identifier: ISC */
/*
 * A simulated wire between two hosts. It has a clock of its own: the seed alone decides what
 * happens on the wire, and in which order, however busy the machine is. Between two events it
 * sleeps about as long as its clock says, so that a recording shows the time.
 */
#ifndef WIRE_H
#define WIRE_H

/* For uv.h, in strict C11. */
#define _GNU_SOURCE
#include <uv.h>

#include <thrum/promise.h>

/* An Ethernet frame, reduced to what ARP and TCP need here. */
struct frame {
	enum {
		ARP_REQUEST,
		ARP_REPLY,
		TCP
	} type;
	unsigned from_mac, to_mac; /* 0: to all */
	unsigned from_ip, to_ip;
	/* of TCP */
	bool syn, ack, fin;
	unsigned sequence, acknowledged;
	char text[32];
};

struct wire;

/* Receives a frame at one end of the wire. The frame stays the caller's. */
typedef void wire_receive(const struct frame *frame, void *data);

struct wire *wire_create(struct thrum_loop *loop, unsigned seed);
/* Destroys the wire; frames that are under way are lost. The uv loop must run once more. */
void wire_destroy(struct wire *wire);

/* Sets the receiver at end 0 or 1. */
void wire_attach(struct wire *wire, int end, wire_receive *receive, void *data);

/* Sends a frame from one end to the other. Returns a promise that is resolved when the card has
 * sent the frame and is ready for the next one. The frame may have arrived long before. */
struct thrum_promise *wire_send(struct wire *wire, int end, const struct frame *frame);

/* Returns the milliseconds since the beginning, by the wire's clock. */
unsigned wire_now(const struct wire *wire);

#endif
