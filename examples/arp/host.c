/* SPDX-License-Identifier: ISC */
/* A host: its end of the wire, and passing on the frames that come out of it. */
#include "stack.h"

struct thrum_promise *host_send(struct host *host, struct frame *frame)
{
	frame->from_mac = host->mac;
	frame->from_ip = host->ip;
	return wire_send(host->wire, host->end, frame);
}

static void receive(const struct frame *frame, void *data)
{
	struct host *host = data;

	if (frame->to_ip != host->ip || (frame->to_mac && frame->to_mac != host->mac))
		return;
	if (frame->type == TCP)
		tcp_segment(host, frame);
	else
		arp_receive(host, frame);
}

void host_start(struct host *host)
{
	wire_attach(host->wire, host->end, receive, host);
}

void host_finish(struct host *host)
{
	tcp_finish(host);
	arp_finish(host);
}
