/* SPDX-License-Identifier: ISC */
/* ARP. The question "who has 10.0.0.2?" goes to all hosts; the answer "02 has" comes back. In
 * between a promise waits. This example is about the way it waits. */
#include "stack.h"

#include <stdlib.h>

/* A host that this one knows (its MAC address) or asks for. */
struct neighbour {
	struct neighbour *next;
	unsigned ip, mac; /* 0: unknown */
	/* --bug, --fixed-order: signalled when the reply comes. */
	struct thrum_condition *replied;
	/* --fixed-promise: a promise of the reply, and its resolver until the reply comes. */
	struct thrum_promise *reply;
	struct thrum_resolver *resolver;
};

static struct neighbour *find(struct host *host, unsigned ip)
{
	struct neighbour *neighbour = host->neighbours;

	while (neighbour && neighbour->ip != ip)
		neighbour = neighbour->next;
	if (neighbour || !(neighbour = calloc(1, sizeof *neighbour)))
		return neighbour;
	neighbour->ip = ip;
	neighbour->next = host->neighbours;
	host->neighbours = neighbour;
	return neighbour;
}

static struct thrum_promise *send_request(struct host *host, unsigned ip)
{
	struct frame request = {.type = ARP_REQUEST, .to_ip = ip};

	return host_send(host, &request);
}

/* ---- The bug --------------------------------------------------------------------------------- */

/* Sends the request, then waits for the reply. That reads well, and works as long as the card has
 * sent the request before the reply arrives. But a condition remembers nothing. If the reply is
 * faster, nobody hears its signal, and the wait that begins then never ends. */
static struct thrum_promise *then_wait(struct thrum_loop *loop, void *value, void *data)
{
	struct neighbour *neighbour = data;

	(void)loop, (void)value;
	return thrum_promise_label(thrum_condition_wait(neighbour->replied, NULL),
		"wait for arp-reply");
}

static struct thrum_promise *query_with_bug(struct host *host, struct neighbour *neighbour)
{
	return thrum_promise_bind(send_request(host, neighbour->ip), then_wait, neighbour, NULL);
}

/* ---- Fixed by order -------------------------------------------------------------------------- */

/* Begins to wait, then sends. The reply can't come before the request is on the wire, and the
 * request isn't there yet. The promise of the send can be ignored: if the card couldn't send,
 * nobody will reply. */
static struct thrum_promise *query_in_order(struct host *host, struct neighbour *neighbour)
{
	struct thrum_promise *reply = thrum_promise_label(thrum_condition_wait(neighbour->replied,
								  NULL),
		"wait for arp-reply");

	thrum_promise_ignore_result(send_request(host, neighbour->ip));
	return reply;
}

/* ---- Fixed by a promise ---------------------------------------------------------------------- */

/* A promise remembers: a caller that comes after the reply finds it there. So neither the order nor
 * the number of callers matters. Only the first one sends a request. */
static struct thrum_promise *query_with_promise(struct host *host, struct neighbour *neighbour)
{
	if (!neighbour->reply) {
		neighbour->reply = thrum_promise_wait(host->loop, "arp-reply",
			&neighbour->resolver);
		thrum_promise_ignore_result(send_request(host, neighbour->ip));
	}
	return thrum_promise_ref(neighbour->reply);
}

/* ---- Both ends ------------------------------------------------------------------------------- */

struct thrum_promise *arp_query(struct host *host, unsigned ip)
{
	struct neighbour *neighbour = find(host, ip);
	struct thrum_promise *reply;

	if (!neighbour)
		return thrum_promise_fail(host->loop, -ENOMEM, NULL);
	if (neighbour->mac)
		return thrum_promise_return(host->loop, thrum_value_int(neighbour->mac));
	if (host->way != ARP_FIXED_PROMISE && !neighbour->replied)
		neighbour->replied = thrum_condition_create(host->loop, "arp-reply");
	switch (host->way) {
	case ARP_FIXED_ORDER: reply = query_in_order(host, neighbour); break;
	case ARP_FIXED_PROMISE: reply = query_with_promise(host, neighbour); break;
	default: reply = query_with_bug(host, neighbour);
	}
	return thrum_promise_labelf(reply, "who has 10.0.0.%u", ip);
}

/* Learns the address of the sender from a request or a reply, and tells those who asked for it. */
static void learn(struct host *host, const struct frame *frame)
{
	struct neighbour *neighbour = find(host, frame->from_ip);

	if (!neighbour)
		return;
	neighbour->mac = frame->from_mac;
	thrum_logf("10.0.0.%u is at %02x", frame->from_ip, frame->from_mac);
	if (frame->type == ARP_REPLY && neighbour->replied)
		thrum_condition_broadcast(neighbour->replied, thrum_value_int(frame->from_mac));
	if (neighbour->resolver) {
		thrum_resolver_resolve(neighbour->resolver, thrum_value_int(frame->from_mac));
		neighbour->resolver = NULL;
	}
}

void arp_receive(struct host *host, const struct frame *frame)
{
	struct frame reply = {.type = ARP_REPLY,
		.to_mac = frame->from_mac,
		.to_ip = frame->from_ip};

	learn(host, frame);
	if (frame->type == ARP_REQUEST)
		thrum_promise_ignore_result(host_send(host, &reply));
}

void arp_finish(struct host *host)
{
	struct neighbour *neighbour;

	while ((neighbour = host->neighbours)) {
		host->neighbours = neighbour->next;
		thrum_condition_destroy(neighbour->replied);
		thrum_resolver_drop(neighbour->resolver);
		thrum_promise_unref(neighbour->reply);
		free(neighbour);
	}
}
