/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: curl issue #7222 ("SSL session reuse does not work with TLS1.2 with OpenSSL since 7.77.0"): new_session_cb
 *     keeps a session only if the transfer is associated with the connection. In the broken program ssl_connect
 *     associates it after the handshake, when the session has already come, so no session is ever kept, and each
 *     connection makes a full handshake. The healthy one associates before. So the broken one has far more tasks
 *     "full handshake" and hardly any "resume session", and "GET" and "connect TLS" take longer.
 *   culprit: full handshake|resume session
 *   victim: GET
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Transfers files over TLS on promises, with a cache of sessions by host. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define HOSTS 4
#define TRANSFERS 40
#define QUEUES 4

struct session {
	unsigned id; /* 0: none */
};

struct transfer {
	struct queue *queue;
	unsigned number;
	unsigned host;
};

struct connection {
	struct transfer *transfer;
	struct transfer *associated; /* what new_session_cb sees */
};

struct queue {
	unsigned number;
	unsigned next;
};

static struct {
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_semaphore *ports;
	struct thrum_mutex *disk;
	struct session sessions[HOSTS];
	unsigned last_id, full, resumed, done;
	bool early; /* associate before the handshake */
} multi;

/* ---- TLS ---- */

/* The server has sent a ticket. */
static void new_session_cb(struct connection *connection, unsigned id)
{
	if (!connection->associated)
		return;
	multi.sessions[connection->associated->host].id = id;
}

static void associate_connection(struct connection *connection)
{
	connection->associated = connection->transfer;
}

static struct thrum_promise *handshake_done(struct thrum_loop *loop, void *value, void *data)
{
	struct connection *connection = data;

	(void)value;
	new_session_cb(connection, ++multi.last_id);
	if (!multi.early)
		associate_connection(connection);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *ssl_connect(struct thrum_loop *loop, void *value, void *data)
{
	struct connection *connection = data;
	unsigned host = connection->transfer->host;
	struct thrum_promise *shaken;

	(void)value;
	if (multi.early)
		associate_connection(connection);
	if (multi.sessions[host].id) {
		multi.resumed++;
		shaken = thrum_promise_label(thrum_sleep(loop, 4), "resume session");
	} else {
		multi.full++;
		shaken = thrum_promise_label(thrum_sleep(loop, 17 + host), "full handshake");
	}
	return thrum_promise_bind(shaken, handshake_done, connection, NULL);
}

/* ---- transfers ---- */

static struct thrum_promise *write_file(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 1), "write");
}

static struct thrum_promise *store(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	multi.done++;
	return thrum_mutex_with(multi.disk, write_file, data, NULL);
}

static struct thrum_promise *request(struct thrum_loop *loop, void *value, void *data)
{
	struct connection *connection = data;
	unsigned ms = 5 + connection->transfer->number % 4;

	(void)value;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, ms), "response"), store,
		connection, NULL);
}

static struct thrum_promise *begin_transfer(struct thrum_loop *loop, void *data)
{
	struct transfer *transfer = data;
	struct connection *connection = calloc(1, sizeof(*connection));
	struct thrum_promise *connected;

	connection->transfer = transfer;
	connected = thrum_promise_label(thrum_sleep(loop, 2), "connect TCP");
	connected = thrum_promise_bind(connected, ssl_connect, connection, NULL);
	connected = thrum_promise_label(connected, "connect TLS");
	return thrum_promise_bind(connected, request, connection, NULL);
}

static struct thrum_promise *queue_next(struct thrum_loop *loop, void *value, void *data)
{
	struct queue *queue = data;
	struct transfer *transfer;
	struct thrum_promise *got;

	(void)value;
	if (queue->next == TRANSFERS)
		return thrum_promise_return(loop, thrum_value_none());
	transfer = calloc(1, sizeof(*transfer));
	*transfer = (struct transfer){queue, queue->next++, 0};
	transfer->host = (queue->number + transfer->number) % HOSTS;
	got = thrum_semaphore_with(multi.ports, begin_transfer, transfer, NULL);
	got = thrum_promise_should_resolve(
		thrum_promise_labelf(got, "GET %u", transfer->number + 1));
	return thrum_promise_bind(got, queue_next, queue, NULL);
}

int main(int argc, char **argv)
{
	static struct queue queues[QUEUES];
	struct thrum_promise *all[QUEUES];
	int code;
	unsigned i;

	if (argc < 2)
		return 2;
	multi.early = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&multi.uv);
	if (thrum_loop_create(&multi.uv, &multi.loop))
		return 1;
	multi.ports = thrum_semaphore_create(multi.loop, "ports", QUEUES);
	multi.disk = thrum_mutex_create(multi.loop, "disk");
	for (i = 0; i < QUEUES; i++) {
		queues[i].number = i;
		all[i] = thrum_promise_labelf(queue_next(multi.loop, NULL, &queues[i]), "queue %u",
			i + 1);
	}
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(multi.loop, all, QUEUES), "main"));
	thrum_stop();
	printf("%u transfers, %u full handshakes, %u resumed, %d\n", multi.done, multi.full,
		multi.resumed, code);
	return code != 0;
}
