/* SPDX-License-Identifier: ISC */
/* TCP, reduced to a conversation: the handshake, texts that are acknowledged one by one, and the
 * end. The wire loses nothing, so nothing is ever sent twice. */
#include "stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INBOX 8 /* texts that may lie unread; a real TCP would close its window */

struct connection {
	struct connection *next;
	struct host *host;
	unsigned ip, mac; /* the other side's */
	unsigned sent, received;
	struct thrum_resolver *acknowledged; /* of the segment that is under way, or NULL */
	struct thrum_stream *inbox;
};

static struct connection *connection_create(struct host *host, unsigned ip, unsigned mac)
{
	struct connection *connection = calloc(1, sizeof *connection);

	if (!connection)
		return NULL;
	connection->host = host;
	connection->ip = ip;
	connection->mac = mac;
	connection->inbox = thrum_stream_create(host->loop, "inbox", INBOX);
	connection->next = host->connections;
	host->connections = connection;
	return connection;
}

/* ---- Sending --------------------------------------------------------------------------------- */

static struct thrum_promise *transmit(struct connection *connection, struct frame *segment)
{
	segment->type = TCP;
	segment->to_ip = connection->ip;
	segment->to_mac = connection->mac;
	segment->sequence = connection->sent;
	segment->acknowledged = connection->received;
	return host_send(connection->host, segment);
}

/* Sends a segment and returns a promise of its acknowledgement. That promise is made first: here,
 * too, the answer may be faster than the card. */
static struct thrum_promise *send_segment(struct connection *connection, struct frame *segment,
	const char *label)
{
	struct thrum_promise *acknowledged;

	if (connection->acknowledged)
		return thrum_promise_fail(connection->host->loop, -EBUSY, "one text at a time");
	acknowledged = thrum_promise_wait(connection->host->loop, label, &connection->acknowledged);
	connection->sent++;
	thrum_promise_ignore_result(transmit(connection, segment));
	return acknowledged;
}

struct thrum_promise *tcp_send(struct connection *connection, const char *text)
{
	struct frame segment = {.ack = true};

	snprintf(segment.text, sizeof segment.text, "%s", text);
	return send_segment(connection, &segment, "text acknowledged");
}

struct thrum_promise *tcp_close(struct connection *connection)
{
	struct frame segment = {.ack = true, .fin = true};

	return send_segment(connection, &segment, "fin acknowledged");
}

/* ---- The handshake --------------------------------------------------------------------------- */

static struct thrum_value give_connection(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return thrum_value_static(data);
}

static struct thrum_promise *then_shake_hands(struct thrum_loop *loop, void *mac, void *data)
{
	struct connection *connection = data;
	struct frame syn = {.syn = true};

	(void)loop;
	connection->mac = (unsigned)thrum_int(mac);
	return thrum_promise_map(send_segment(connection, &syn, "syn acknowledged"),
		give_connection, connection, NULL);
}

struct thrum_promise *tcp_connect(struct host *host, unsigned ip)
{
	struct connection *connection = connection_create(host, ip, 0);
	struct thrum_promise *found;

	if (!connection)
		return thrum_promise_fail(host->loop, -ENOMEM, NULL);
	found = arp_query(host, ip);
	found = thrum_promise_bind(found, then_shake_hands, connection, NULL);
	return thrum_promise_labelf(found, "connect 10.0.0.%u", ip);
}

/* ---- Receiving ------------------------------------------------------------------------------- */

struct thrum_promise *tcp_receive(struct connection *connection)
{
	return thrum_stream_next(connection->inbox);
}

static struct connection *find_connection(struct host *host, const struct frame *frame)
{
	struct connection *connection = host->connections;

	while (connection && connection->ip != frame->from_ip)
		connection = connection->next;
	if (connection || !frame->syn || !host->accept)
		return connection;
	connection = connection_create(host, frame->from_ip, frame->from_mac);
	if (connection)
		host->accept(connection);
	return connection;
}

static void deliver(struct connection *connection, const struct frame *segment)
{
	char *text = segment->text[0] ? strdup(segment->text) : NULL;

	if (text && !thrum_stream_try_push(connection->inbox, thrum_value_own(text, free)))
		free(text);
	if (segment->fin)
		thrum_stream_close(connection->inbox);
}

void tcp_segment(struct host *host, const struct frame *segment)
{
	struct connection *connection = find_connection(host, segment);
	struct frame reply = {.ack = true};
	struct thrum_resolver *resolver;

	if (!connection)
		return;
	if (segment->sequence > connection->received) {
		connection->received = segment->sequence;
		thrum_promise_ignore_result(transmit(connection, &reply));
		deliver(connection, segment);
	}
	if ((resolver = connection->acknowledged) && segment->ack &&
		segment->acknowledged == connection->sent) {
		connection->acknowledged = NULL;
		thrum_resolver_resolve(resolver, thrum_value_none());
	}
}

void tcp_finish(struct host *host)
{
	struct connection *connection;

	while ((connection = host->connections)) {
		host->connections = connection->next;
		thrum_resolver_drop(connection->acknowledged);
		thrum_stream_destroy(connection->inbox);
		free(connection);
	}
}
