/* SPDX-License-Identifier: ISC */
/* libnats, for the files of fleet/ that use it, and private to them. It is loaded when it is needed, so that
 * thrum runs without it. */
#ifndef FLEET_LIBRARY_H
#define FLEET_LIBRARY_H

#include <nats/nats.h>

#include "fleet/fleet.h"

#define FUNCTIONS(X) \
	X(natsOptions_Create) \
	X(natsOptions_Destroy) \
	X(natsOptions_SetServers) \
	X(natsOptions_SetName) \
	X(natsOptions_SetTimeout) \
	X(natsOptions_SetMaxReconnect) \
	X(natsOptions_SetReconnectWait) \
	X(natsOptions_SetPingInterval) \
	X(natsOptions_SetWriteDeadline) \
	X(natsOptions_SetErrorHandler) \
	X(natsOptions_SetUserCredentialsFromFiles) \
	X(natsOptions_SetCustomInboxPrefix) \
	X(natsOptions_SetSecure) \
	X(natsOptions_LoadCATrustedCertificates) \
	X(natsOptions_LoadCertificatesChain) \
	X(natsConnection_Connect) \
	X(natsConnection_Destroy) \
	X(natsConnection_Status) \
	X(natsConnection_GetLastError) \
	X(natsConnection_GetMaxPayload) \
	X(natsConnection_JetStream) \
	X(natsConnection_SubscribeSync) \
	X(natsConnection_QueueSubscribe) \
	X(natsConnection_Request) \
	X(natsConnection_Publish) \
	X(natsConnection_PublishMsg) \
	X(natsConnection_FlushTimeout) \
	X(natsSubscription_NextMsg) \
	X(natsSubscription_GetConsumerInfo) \
	X(natsSubscription_Unsubscribe) \
	X(natsSubscription_Destroy) \
	X(natsInbox_Create) \
	X(natsInbox_Destroy) \
	X(natsMsg_Create) \
	X(natsMsg_Destroy) \
	X(natsMsg_GetSubject) \
	X(natsMsg_GetReply) \
	X(natsMsg_GetData) \
	X(natsMsg_GetDataLength) \
	X(natsMsg_GetMetaData) \
	X(natsMsg_IsNoResponders) \
	X(natsMsgHeader_Set) \
	X(natsMsgHeader_Get) \
	X(natsStatus_GetText) \
	X(nats_GetLastError) \
	X(jsCtx_Destroy) \
	X(jsSubOptions_Init) \
	X(jsStreamConfig_Init) \
	X(jsStreamInfo_Destroy) \
	X(jsConsumerInfo_Destroy) \
	X(jsMsgMetaData_Destroy) \
	X(js_AddStream) \
	X(js_GetStreamInfo) \
	X(js_SubscribeSync)

#define THRUM__FLEET_PING "thrum.ping" /* the subject of questions for the time */

struct nats {
#define X(name) __typeof__(&(name)) name;
	FUNCTIONS(X)
#undef X
};

struct thrum__fleet_server {
	struct nats nats;
	natsConnection *connection;
	jsCtx *stream;
	char inbox[200]; /* answers to messages come to subjects below it */
	natsSubscription *answers;
	uint64_t number;    /* of the latest message that was sent */
	int64_t tables_age; /* the stream drops tables then, ns; 0: it doesn't */
	/* ping.c */
	natsSubscription *pings; /* NULL: this agent doesn't answer */
	uint64_t silent_until;   /* it had no right to ask: monotonic ns */
};

/* Loads the library. Returns 0 or -THRUM_E_SYSTEM. */
THRUM__MUST_USE int thrum__fleet_load(struct nats *, struct thrum_error_info *);
/* Gives the library's words for a failure. Returns a negative enum thrum_error. */
int thrum__fleet_failed(struct thrum__fleet_server *, natsStatus, const char *doing,
	struct thrum_error_info *);
/* Ends a subscription, and waits until no thread of the library uses it. NULL is allowed. */
void thrum__fleet_end_subscription(struct thrum__fleet_server *, natsSubscription *);

#endif
