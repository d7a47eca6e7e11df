/* SPDX-License-Identifier: ISC */
/*
 * The web server: connections and their requests.
 *
 *   GET /           is answered at once
 *   GET /user/N     asks the database (database.c)
 *   GET /report/N   is computed by libuv's thread pool
 *   anything else   is not found
 *
 * A route returns a promise of its text, or one that fails with an HTTP status. A connection is a
 * loop: wait for a request, answer it, begin again.
 */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

THRUM_CATEGORY(http, "http");
THRUM_TAG(status_sent, &http, "http/status", 1);
THRUM_TAG(computing, NULL, "report/compute", 1);

struct session {
	struct worker *worker;
	struct channel *channel;
	uint64_t began; /* of the request */
};

/* ---- Routes ---------------------------------------------------------------------------------- */

/* Runs in a thread of the pool, which has a lane of its own. */
static int compute(void *data, struct thrum_value *result)
{
	volatile uint32_t sum = 0;

	(void)data;
	thrum_span_begin(&computing);
	for (uint32_t i = 0; i < 50000; i++)
		sum = sum * 31 + i;
	thrum_span_end(&computing);
	*result = thrum_value_static("all is well\n");
	return 0;
}

static struct thrum_promise *route(struct worker *worker, const char *start)
{
	unsigned number;
	char path[33], label[32];

	if (sscanf(start, "GET %32s HTTP/1.1", path) != 1)
		return thrum_promise_fail(worker->loop, 400, "bad request");
	if (strcmp(path, "/") == 0)
		return thrum_promise_return(worker->loop, thrum_value_static("hello\n"));
	if (sscanf(path, "/user/%u", &number) == 1)
		return look_up(worker, number);
	if (sscanf(path, "/report/%u", &number) == 1) {
		snprintf(label, sizeof label, "report %u", number);
		return thrum_work(worker->loop, label, compute, NULL, NULL);
	}
	return thrum_promise_fail(worker->loop, 404, "not found");
}

/* ---- Requests -------------------------------------------------------------------------------- */

static struct thrum_value count_response(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)loop, (void)value;
	thrum_counter_add(requests_served, 1);
	thrum_counter_observe(latency_us, (int64_t)((uv_hrtime() - session->began) / 1000));
	session->worker->answered++;
	return thrum_value_none();
}

static struct thrum_promise *respond(struct session *session, int status, const char *text)
{
	struct thrum_promise *sent;
	char start[40];

	thrum_tag_value(&status_sent, status);
	snprintf(start, sizeof start, "HTTP/1.1 %d %s", status, status == 200 ? "OK" : "Failed");
	sent = channel_send(session->worker->loop, session->channel, start, NULL, text);
	return thrum_promise_map(sent, count_response, session, NULL);
}

static struct thrum_promise *send_text(struct thrum_loop *loop, void *text, void *data)
{
	return text ? respond(data, 200, text) : thrum_promise_fail(loop, -ENOMEM, NULL);
}

static struct thrum_promise *send_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	if (failure->code == -ECONNRESET || failure->code == THRUM_CANCELED)
		return thrum_promise_fail_again(loop, failure);
	return respond(data, failure->code > 0 ? failure->code : 500, failure->message);
}

/* Returns a promise of the text, which is cancelled if the client hangs up before. */
static struct thrum_promise *unless_gone(struct session *session, struct thrum_promise *text)
{
	struct thrum_promise *either[] = {text, NULL};

	if (thrum_promise_state(text) != THRUM_PROMISE_PENDING)
		return text;
	either[1] = channel_watch(session->worker->loop, session->channel);
	return thrum_promise_pick(session->worker->loop, either, 2);
}

static struct thrum_promise *answer(struct session *session, const struct message *request)
{
	struct thrum_promise *done;

	session->began = uv_hrtime();
	thrum_link_receive(request->id, strlen(request->id));
	/* If the text is there already, this returns the promise that respond() made. That one has
	 * no label yet, so it gets this one. The promise of the write has its own. */
	done = thrum_promise_try_bind(unless_gone(session, route(session->worker, request->start)),
		send_text, send_failure, session, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(done, "%.*s",
		(int)(strlen(request->start) - strlen(" HTTP/1.1")), request->start));
}

/* ---- Connections ----------------------------------------------------------------------------- */

static struct thrum_promise *serve(struct thrum_loop *loop, struct session *session);

static struct thrum_promise *serve_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return serve(loop, data);
}

static struct thrum_promise *serve_request(struct thrum_loop *loop, void *request, void *data)
{
	if (!request)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(answer(data, request), serve_again, data, NULL);
}

static struct thrum_promise *serve(struct thrum_loop *loop, struct session *session)
{
	return thrum_promise_bind(channel_next(loop, session->channel), serve_request, session,
		NULL);
}

static struct thrum_promise *end_session(struct thrum_loop *loop, void *data)
{
	struct session *session = data;

	thrum_counter_add(connections_open, -1);
	channel_close(session->channel);
	free(session);
	return thrum_promise_return(loop, thrum_value_none());
}

static void begin_session(struct worker *worker, struct channel *channel)
{
	struct session *session = malloc(sizeof *session);

	if (!session) {
		channel_close(channel);
		return;
	}
	*session = (struct session){worker, channel, 0};
	thrum_counter_add(connections_open, 1);
	thrum_switch_add(worker->connections,
		thrum_promise_label(thrum_promise_finalize(serve(worker->loop, session),
					    end_session, session, NULL),
			"connection"));
}

static struct thrum_promise *accept_again(struct thrum_loop *loop, void *connection, void *data)
{
	struct worker *worker = data;
	struct channel *channel = channel_take(loop);

	(void)connection;
	if (channel)
		begin_session(worker, channel);
	return thrum_promise_bind(thrum_listener_accept(worker->listener), accept_again, worker,
		NULL);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int server_start(struct worker *worker)
{
	struct sockaddr *address = (struct sockaddr *)&worker->address;
	int status;

	uv_ip4_addr("127.0.0.1", 0, &worker->address);
	status = thrum_tcp_listen(worker->loop, address, 128, &worker->listener);
	if (status < 0)
		return status;
	worker->address.sin_port = htons((uint16_t)thrum_listener_port(worker->listener));
	worker->database = thrum_mutex_create(worker->loop, "database");
	worker->connections = thrum_switch_create(worker->loop, "connections");
	if (!worker->database || !worker->connections)
		return -ENOMEM;
	thrum_switch_add(worker->connections,
		thrum_promise_label(thrum_promise_bind(thrum_listener_accept(worker->listener),
					    accept_again, worker, NULL),
			"server"));
	return 0;
}

struct thrum_promise *server_stop(struct worker *worker)
{
	thrum_promise_unref(thrum_listener_close(worker->listener));
	return thrum_switch_off(worker->connections);
}
