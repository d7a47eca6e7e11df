/* SPDX-License-Identifier: ISC */
/*
 * A NATS server with JetStream, through libnats.
 *
 * Messages are published with an inbox of our own for the answers, a batch at a time: whatever is not
 * known to be stored when the batch's time is over counts as refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "port/port.h"
#include "read/read.h"

#ifdef HAVE_NATS

#include "fleet/library.h"

#define PACKETS "THRUM_PACKETS" /* the names of the streams */
#define TABLES "THRUM_TABLES"
#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)
#define PATIENCE 5000                      /* ms, for an answer */
#define TRIES 4                            /* to read */
#define DUPLICATES (INT64_C(120) * SECOND) /* the time in which a message may come twice */
#define HEADERS_MOST 1024                  /* bytes of a message's headers */
#define PAYLOAD_LEAST (THRUM__FLEET_PART + 2 * HEADERS_MOST) /* a part isn't divided */

/* ---- Connecting ----------------------------------------------------------------------------- */

/* The library prints errors that have no handler. The call that they concern fails, too. */
static void stay_silent(natsConnection *connection, natsSubscription *subscription,
	natsStatus status, void *context)
{
	(void)connection, (void)subscription, (void)status, (void)context;
}

/* Names the servers: each host, with the scheme and the user that stand before the first. */
static natsStatus set_servers(const struct nats *nats, natsOptions *o, const char *server)
{
	char urls[THRUM__FLEET_SERVERS_MAX][sizeof((struct thrum__fleet_address *)0)->server];
	const char *list[THRUM__FLEET_SERVERS_MAX], *at = strrchr(server, '@');
	int count = 0;

	at = at ? at + 1 : strstr(server, "://") + 3;
	for (int before = (int)(at - server); count < THRUM__FLEET_SERVERS_MAX && *at;) {
		int size = (int)strcspn(at, ",");

		snprintf(urls[count], sizeof urls[0], "%.*s%.*s", before, server, size, at);
		list[count] = urls[count];
		count++;
		at += size + (at[size] == ',');
	}
	return nats->natsOptions_SetServers(o, list, count);
}

static natsStatus set_options(const struct nats *nats, natsOptions *o,
	const struct thrum__fleet_address *a)
{
	natsStatus status = set_servers(nats, o, a->server);

	if (status == NATS_OK)
		status = nats->natsOptions_SetName(o, "thrum");
	if (status == NATS_OK)
		status = nats->natsOptions_SetTimeout(o, PATIENCE);
	if (status == NATS_OK)
		status = nats->natsOptions_SetMaxReconnect(o, -1);
	if (status == NATS_OK)
		status = nats->natsOptions_SetReconnectWait(o, 500);
	/* A server that hangs is noticed in this time, too. */
	if (status == NATS_OK)
		status = nats->natsOptions_SetPingInterval(o, PATIENCE);
	if (status == NATS_OK)
		status = nats->natsOptions_SetWriteDeadline(o, 2000);
	if (status == NATS_OK)
		status = nats->natsOptions_SetErrorHandler(o, stay_silent, NULL);
	if (status == NATS_OK && a->creds[0])
		status = nats->natsOptions_SetUserCredentialsFromFiles(o, a->creds, NULL);
	if (status == NATS_OK && a->inbox[0])
		status = nats->natsOptions_SetCustomInboxPrefix(o, a->inbox);
	if (status == NATS_OK && (a->authority[0] || a->certificate[0]))
		status = nats->natsOptions_SetSecure(o, true);
	if (status == NATS_OK && a->authority[0])
		status = nats->natsOptions_LoadCATrustedCertificates(o, a->authority);
	if (status == NATS_OK && a->certificate[0])
		status = nats->natsOptions_LoadCertificatesChain(o, a->certificate, a->key);
	return status;
}

/* Ends a subscription. A thread of libnats may be about to take a message for it, and before 3.6 that
 * aborts the program if the subscription is gone (nats.c, issue 637). So this waits until that thread has
 * read what the server sent before. */
void thrum__fleet_end_subscription(struct thrum__fleet_server *s, natsSubscription *subscription)
{
	if (subscription &&
		s->nats.natsConnection_Status(s->connection) == NATS_CONN_STATUS_CONNECTED &&
		s->nats.natsSubscription_Unsubscribe(subscription) == NATS_OK)
		s->nats.natsConnection_FlushTimeout(s->connection, PATIENCE);
	s->nats.natsSubscription_Destroy(subscription);
}

static natsStatus listen_for_answers(struct thrum__fleet_server *s, const char *prefix)
{
	char subject[sizeof s->inbox + 2];
	natsInbox *unique = NULL;
	natsStatus status = s->nats.natsInbox_Create(&unique);

	if (status != NATS_OK)
		return status;
	snprintf(s->inbox, sizeof s->inbox, "%s%s", *prefix ? prefix : "_INBOX",
		strrchr(unique, '.'));
	s->nats.natsInbox_Destroy(unique);
	snprintf(subject, sizeof subject, "%s.*", s->inbox);
	return s->nats.natsConnection_SubscribeSync(&s->answers, s->connection, subject);
}

int thrum__fleet_connect(const struct thrum__fleet_address *address,
	struct thrum__fleet_server **server, struct thrum_error_info *info)
{
	struct thrum__fleet_server *s = calloc(1, sizeof *s);
	natsOptions *options = NULL;
	natsStatus status;

	if (!s)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	int error = thrum__fleet_load(&s->nats, info);

	if (error) {
		free(s);
		return error;
	}
	status = s->nats.natsOptions_Create(&options);
	if (status == NATS_OK)
		status = set_options(&s->nats, options, address);
	if (status == NATS_OK)
		status = s->nats.natsConnection_Connect(&s->connection, options);
	if (status == NATS_OK)
		status = s->nats.natsConnection_JetStream(&s->stream, s->connection, NULL);
	if (status == NATS_OK)
		status = listen_for_answers(s, address->inbox);
	if (status != NATS_OK)
		error = thrum__fleet_failed(s, status, "the server can't be reached", info);
	s->nats.natsOptions_Destroy(options);
	if (error)
		thrum__fleet_close(s);
	else
		*server = s;
	return error;
}

void thrum__fleet_close(struct thrum__fleet_server *s)
{
	if (!s)
		return;
	if (s->pings)
		s->nats.natsSubscription_Unsubscribe(s->pings);
	thrum__fleet_end_subscription(s, s->answers);
	s->nats.natsSubscription_Destroy(s->pings);
	s->nats.jsCtx_Destroy(s->stream);
	s->nats.natsConnection_Destroy(s->connection);
	free(s);
}

/* ---- Streams -------------------------------------------------------------------------------- */

/* Makes the stream unless it is there, and adds the time at which it was made. *age: how long it keeps
 * messages. */
static int make_stream(struct thrum__fleet_server *s, jsStreamConfig *config, uint64_t *made,
	int64_t *age, struct thrum_error_info *info)
{
	jsStreamInfo *about = NULL;
	natsStatus status = s->nats.js_GetStreamInfo(&about, s->stream, config->Name, NULL, NULL);

	if (status == NATS_NOT_FOUND)
		status = s->nats.js_AddStream(&about, s->stream, config, NULL, NULL);
	if (status == NATS_OK) {
		*made += (uint64_t)about->Created;
		*age = about->Config->MaxAge;
	}
	s->nats.jsStreamInfo_Destroy(about);
	return status == NATS_OK
		? 0
		: thrum__fleet_failed(s, status, "the server keeps no stream for thrum", info);
}

int thrum__fleet_make_streams(struct thrum__fleet_server *s,
	const struct thrum__fleet_keeping *keeping, uint64_t *made, struct thrum_error_info *info)
{
	const char *packets = "thrum.rec.>", *tables = "thrum.def.>";
	int64_t most = s->nats.natsConnection_GetMaxPayload(s->connection);
	jsStreamConfig config;
	int64_t age;
	int error;

	if (most < PAYLOAD_LEAST)
		return thrum__read_error_set(info, -THRUM_E_SIZE, 0,
			"it takes messages of %lld bytes only; its max_payload must be %u or more",
			(long long)most, PAYLOAD_LEAST);
	*made = 0;
	s->nats.jsStreamConfig_Init(&config);
	config.Name = PACKETS;
	config.Subjects = &packets;
	config.SubjectsLen = 1;
	config.Storage = js_FileStorage;
	config.Replicas = (int64_t)keeping->replicas;
	config.MaxAge = keeping->age;
	config.MaxBytes = keeping->bytes ? (int64_t)keeping->bytes : -1;
	config.Duplicates = DUPLICATES;
	if (keeping->age && config.Duplicates > keeping->age)
		config.Duplicates = keeping->age;
	error = make_stream(s, &config, made, &age, info);
	if (error)
		return error;
	/* Packets are of no use without their tables, which are sent again after half their time. */
	config.Name = TABLES;
	config.Subjects = &tables;
	config.MaxAge = keeping->age * 2;
	config.MaxBytes = -1;
	config.MaxMsgsPerSubject = 1;
	return make_stream(s, &config, made, &s->tables_age, info);
}

/* ---- Sending -------------------------------------------------------------------------------- */

/* Sends a message; its answer comes to a subject that ends in the number. */
static natsStatus publish(struct thrum__fleet_server *s, const struct thrum__fleet_message *m,
	uint64_t number)
{
	const struct nats *nats = &s->nats;
	char reply[sizeof s->inbox + 24];
	natsMsg *message = NULL;

	snprintf(reply, sizeof reply, "%s.%llu", s->inbox, (unsigned long long)number);
	natsStatus status = nats->natsMsg_Create(&message, m->subject, reply, m->bytes,
		(int)m->size);

	if (status == NATS_OK && m->id)
		status = nats->natsMsgHeader_Set(message, "Nats-Msg-Id", m->id);
	if (status == NATS_OK && m->info)
		status = nats->natsMsgHeader_Set(message,
			m->id ? THRUM__FLEET_PIECE : THRUM__FLEET_COUNT, m->info);
	if (status == NATS_OK)
		status = nats->natsConnection_PublishMsg(s->connection, message);
	nats->natsMsg_Destroy(message);
	return status;
}

/* Tells why an answer doesn't say that the message is stored; NULL: it is. */
static const char *refusal(const struct nats *nats, natsMsg *answer, char words[120])
{
	const char *text = nats->natsMsg_GetData(answer), *why;
	int size = nats->natsMsg_GetDataLength(answer);

	if (nats->natsMsg_IsNoResponders(answer))
		return "no stream takes it; perhaps it has no leader now";
	snprintf(words, 120, "%.*s", size > 0 ? size : 0, text ? text : "");
	why = strstr(words, "\"error\"");
	return why ? why : strstr(words, "\"seq\"") ? NULL : "the answer is none of JetStream's";
}

/* Waits for the answers to the messages with numbers from `first` on. */
static int await_answers(struct thrum__fleet_server *s, uint64_t first, size_t count, bool *stored,
	struct thrum_error_info *info)
{
	uint64_t end = thrum__port_monotonic() + PATIENCE * MS;
	char words[120];
	int error = 0;

	for (size_t open = count; open > 0;) {
		uint64_t now = thrum__port_monotonic();
		natsMsg *answer = NULL;
		natsStatus status = now < end ? s->nats.natsSubscription_NextMsg(&answer,
							s->answers, (int64_t)((end - now) / MS) + 1)
					      : NATS_TIMEOUT;

		if (status != NATS_OK)
			return thrum__fleet_failed(s, status,
				"the server doesn't say that it stores", info);
		uint64_t number = strtoull(strrchr(s->nats.natsMsg_GetSubject(answer), '.') + 1,
			NULL, 10);

		/* Others are late answers to a batch that was given up. */
		if (number >= first && number < first + count && !stored[number - first]) {
			const char *why = refusal(&s->nats, answer, words);

			open--;
			stored[number - first] = why == NULL;
			if (why && error == 0)
				error = thrum__read_error_set(info, -THRUM_E_SYSTEM, 0,
					"the server refuses: %s", why);
		}
		s->nats.natsMsg_Destroy(answer);
	}
	return error;
}

static int send_messages(void *owner, const struct thrum__fleet_message *messages, size_t count,
	bool *stored, struct thrum_error_info *info)
{
	struct thrum__fleet_server *s = owner;
	uint64_t first = s->number + 1;
	natsStatus status = NATS_OK;
	size_t sent = 0;

	/* The library would keep messages until it is connected again; the recording does, too. */
	if (s->nats.natsConnection_Status(s->connection) != NATS_CONN_STATUS_CONNECTED)
		return thrum__read_error_set(info, -THRUM_E_SYSTEM, 0,
			"the server can't be reached");
	while (sent < count && status == NATS_OK) {
		status = publish(s, &messages[sent], ++s->number);
		sent += status == NATS_OK;
	}
	int error = await_answers(s, first, sent, stored, info);

	return error || status == NATS_OK
		? error
		: thrum__fleet_failed(s, status, "a message can't be sent", info);
}

struct thrum__fleet_outlet thrum__fleet_outlet(struct thrum__fleet_server *s)
{
	return (struct thrum__fleet_outlet){s,
		(size_t)s->nats.natsConnection_GetMaxPayload(s->connection) - HEADERS_MOST,
		s->tables_age, send_messages, thrum__port_realtime};
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Gives a message to `take`. Returns what that returns, and tells whether it was the last one. A table
 * may have been replaced since the range's end was known: so all that have come since are taken, too. */
static int take_message(struct thrum__fleet_server *s, natsMsg *message,
	const struct thrum__fleet_range *range,
	int (*take)(void *, const struct thrum__fleet_stored *), void *context, bool *is_last)
{
	jsMsgMetaData *about = NULL;
	const char *value = NULL;
	int result;

	if (s->nats.natsMsg_GetMetaData(&about, message) != NATS_OK)
		return 0;
	*is_last = about->NumPending == 0 ||
		(!range->is_tables && about->Sequence.Stream >= range->last);
	if (!range->is_tables && about->Sequence.Stream > range->last) {
		s->nats.jsMsgMetaData_Destroy(about);
		return 0;
	}
	if (s->nats.natsMsgHeader_Get(message, THRUM__FLEET_PIECE, &value) != NATS_OK)
		s->nats.natsMsgHeader_Get(message, THRUM__FLEET_COUNT, &value);
	result = take(context,
		&(struct thrum__fleet_stored){s->nats.natsMsg_GetSubject(message), value,
			s->nats.natsMsg_GetData(message),
			(size_t)s->nats.natsMsg_GetDataLength(message), about->Timestamp});
	s->nats.jsMsgMetaData_Destroy(about);
	return result;
}

static int read_messages(struct thrum__fleet_server *s, natsSubscription *subscription,
	const struct thrum__fleet_range *range,
	int (*take)(void *, const struct thrum__fleet_stored *), void *context, bool *has_come,
	struct thrum_error_info *info)
{
	jsConsumerInfo *about = NULL;
	natsStatus status = s->nats.natsSubscription_GetConsumerInfo(&about, subscription, NULL,
		NULL);
	bool is_last = false;
	int result = 0;

	if (status != NATS_OK)
		return thrum__fleet_failed(s, status, "the server's messages can't be read", info);
	is_last = about->NumPending == 0 && about->Delivered.Consumer == 0;
	s->nats.jsConsumerInfo_Destroy(about);
	while (!is_last && result == 0) {
		natsMsg *message = NULL;

		status = s->nats.natsSubscription_NextMsg(&message, subscription, PATIENCE);
		if (status != NATS_OK)
			return thrum__fleet_failed(s, status, "the server's messages can't be read",
				info);
		*has_come = true;
		result = take_message(s, message, range, take, context, &is_last);
		s->nats.natsMsg_Destroy(message);
	}
	return result;
}

int thrum__fleet_last(struct thrum__fleet_server *s, bool is_tables, uint64_t *last,
	struct thrum_error_info *info)
{
	jsStreamInfo *about = NULL;
	natsStatus status = s->nats.js_GetStreamInfo(&about, s->stream,
		is_tables ? TABLES : PACKETS, NULL, NULL);

	if (status == NATS_NOT_FOUND)
		return thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"the server keeps no recordings: thrum ship sends them");
	if (status != NATS_OK)
		return thrum__fleet_failed(s, status, "the server doesn't answer", info);
	*last = about->State.LastSeq;
	s->nats.jsStreamInfo_Destroy(about);
	return 0;
}

static int read_range(struct thrum__fleet_server *s, const struct thrum__fleet_range *range,
	int (*take)(void *, const struct thrum__fleet_stored *), void *context, bool *has_come,
	struct thrum_error_info *info)
{
	natsSubscription *subscription = NULL;
	jsSubOptions options;

	s->nats.jsSubOptions_Init(&options);
	options.Stream = range->is_tables ? TABLES : PACKETS;
	options.Ordered = true;
	options.Config.HeadersOnly = range->has_headers_only;
	if (range->from > 0) {
		options.Config.DeliverPolicy = js_DeliverByStartTime;
		options.Config.OptStartTime = range->from;
	} else if (range->after > 0) {
		options.Config.DeliverPolicy = js_DeliverByStartSequence;
		options.Config.OptStartSeq = range->after + 1;
	}
	natsStatus status = s->nats.js_SubscribeSync(&subscription, s->stream, range->filter, NULL,
		&options, NULL);

	if (status != NATS_OK)
		return thrum__fleet_failed(s, status, "the server's messages can't be read", info);
	int result = read_messages(s, subscription, range, take, context, has_come, info);

	thrum__fleet_end_subscription(s, subscription);
	return result;
}

int thrum__fleet_read(struct thrum__fleet_server *s, const struct thrum__fleet_range *range,
	int (*take)(void *, const struct thrum__fleet_stored *), void *context,
	struct thrum_error_info *info)
{
	bool has_come = false;
	int result = 0;

	/* A cluster may leave the messages to a server that has just died. */
	for (int i = 0; i < TRIES && range->after < range->last; i++) {
		result = read_range(s, range, take, context, &has_come, info);
		if (result != -THRUM_E_SYSTEM || has_come)
			break;
	}
	return result;
}

#else

void thrum__fleet_ping(struct thrum__fleet_server *s, const char *key)
{
	(void)s, (void)key;
}

static int refuse(struct thrum_error_info *info)
{
	return thrum__read_error_set(info, -THRUM_E_SYSTEM, 0,
		"this thrum was built without NATS: install libnats-dev and build it again");
}

int thrum__fleet_connect(const struct thrum__fleet_address *address,
	struct thrum__fleet_server **server, struct thrum_error_info *info)
{
	(void)address, (void)server;
	return refuse(info);
}

void thrum__fleet_close(struct thrum__fleet_server *s)
{
	(void)s;
}

int thrum__fleet_make_streams(struct thrum__fleet_server *s,
	const struct thrum__fleet_keeping *keeping, uint64_t *made, struct thrum_error_info *info)
{
	(void)s, (void)keeping, (void)made;
	return refuse(info);
}

struct thrum__fleet_outlet thrum__fleet_outlet(struct thrum__fleet_server *s)
{
	(void)s;
	return (struct thrum__fleet_outlet){0};
}

int thrum__fleet_last(struct thrum__fleet_server *s, bool is_tables, uint64_t *last,
	struct thrum_error_info *info)
{
	(void)s, (void)is_tables, (void)last;
	return refuse(info);
}

int thrum__fleet_read(struct thrum__fleet_server *s, const struct thrum__fleet_range *range,
	int (*take)(void *, const struct thrum__fleet_stored *), void *context,
	struct thrum_error_info *info)
{
	(void)s, (void)range, (void)take, (void)context;
	return refuse(info);
}

#endif
