/* SPDX-License-Identifier: ISC */
/*
 * Compares the clocks of machines: agents ask, and one of them answers all others. That one has found
 * nobody who answered. When it is gone, the next agent that asks takes its place; when two do so at once,
 * each answers some. So there are as many messages as agents, and each clock is compared with that of one
 * machine, or of few.
 *
 *   thrum.ping              a question; the answer: 1 BOOT HEARD ANSWERED
 *   thrum.rec.HOST.clock    what is stored: see thrum__fleet_put_ping
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/library.h"
#include "port/port.h"

#define PATIENCE 500 /* ms, for an answer */
/* After a question that the server doesn't permit, the next one comes this many ns later: it notes each, and
 * may permit them by then. */
#define SILENCE UINT64_C(300000000000)

/* For that thread, which may still answer when the server's connection is closed. */
static struct nats library;

/* Answers in a thread of libnats, at once. */
static void answer(natsConnection *connection, natsSubscription *subscription, natsMsg *question,
	void *context)
{
	uint64_t heard = thrum__port_monotonic();
	const char *reply = library.natsMsg_GetReply(question);
	char text[80];

	(void)subscription, (void)context;
	if (reply) {
		int size = snprintf(text, sizeof text, "1 %" PRIu64 " %" PRIu64 " %" PRIu64,
			thrum__port_boot(), heard, thrum__port_monotonic());

		library.natsConnection_Publish(connection, reply, text, size);
	}
	library.natsMsg_Destroy(question);
}

/* Reads the answer. Returns whether it is one of another machine. */
static bool get_answer(const struct nats *nats, natsMsg *message, struct thrum__ping *ping)
{
	char text[80];
	int size = nats->natsMsg_GetDataLength(message);

	snprintf(text, sizeof text, "%.*s", size, nats->natsMsg_GetData(message));
	return sscanf(text, "1 %" SCNu64 " %" SCNd64 " %" SCNd64, &ping->answerer, &ping->heard,
		       &ping->answered) == 3 &&
		ping->answerer != 0 && ping->answerer != ping->asker;
}

/* Stores what was found, under the host's name in a recording's key. */
static void store(struct thrum__fleet_server *s, const char *key, const struct thrum__ping *ping)
{
	struct thrum__fleet_outlet outlet = thrum__fleet_outlet(s);
	char subject[THRUM__FLEET_SUBJECT], text[THRUM__FLEET_INFO];
	bool stored = false;

	snprintf(subject, sizeof subject, "thrum.rec.%.*s.clock", (int)strcspn(key, "."), key);
	thrum__fleet_put_ping(ping, text);
	outlet.send(s, &(struct thrum__fleet_message){subject, NULL, NULL, text, strlen(text)}, 1,
		&stored, NULL);
}

/* Nobody else answers. */
static void begin_to_answer(struct thrum__fleet_server *s)
{
	if (s->pings)
		return;
	if (!library.natsMsg_GetReply)
		library = s->nats;
	s->nats.natsConnection_QueueSubscribe(&s->pings, s->connection, THRUM__FLEET_PING, "thrum",
		answer, NULL);
}

void thrum__fleet_ping(struct thrum__fleet_server *s, const char *key)
{
	const struct nats *nats = &s->nats;
	struct thrum__ping ping = {.asker = thrum__port_boot()};
	const char *words;
	natsMsg *message = NULL;

	if (thrum__port_monotonic() < s->silent_until)
		return;
	ping.asked = (int64_t)thrum__port_monotonic();
	natsStatus status = nats->natsConnection_Request(&message, s->connection, THRUM__FLEET_PING,
		"", 0, PATIENCE);

	ping.back = (int64_t)thrum__port_monotonic();
	if (status == NATS_OK && get_answer(nats, message, &ping))
		store(s, key, &ping);
	else if (status == NATS_NO_RESPONDERS)
		begin_to_answer(s);
	else if (status == NATS_TIMEOUT &&
		nats->natsConnection_GetLastError(s->connection, &words) == NATS_NOT_PERMITTED &&
		strstr(words, THRUM__FLEET_PING))
		s->silent_until = thrum__port_monotonic() + SILENCE;
	nats->natsMsg_Destroy(message);
}
