/* SPDX-License-Identifier: ISC */
/*
 * The web server: connections and their requests.
 *
 *   GET /           is answered at once
 *   GET /user/N     asks a database that serves one lookup at a time; a request for a user that is
 *                   being looked up already shares that lookup
 *   GET /report/N   is computed by libuv's thread pool
 *   anything else   is not found
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

THRUM_CATEGORY(http, "http");
THRUM_TAG(parsing, &http, "http/parse", 1);
THRUM_TAG(status_sent, &http, "http/status", 1);
THRUM_TAG(computing, NULL, "report/compute", 1);

#define WARM_UP_MS 150 /* the time that the database needs for user 0 */

/* The server's end of a connection, with the one request that it is busy with. */
struct connection {
	uv_tcp_t tcp;
	uv_write_t write;
	uv_work_t work;
	struct worker *worker;
	struct lookup *lookup;   /* that the request waits for, or NULL */
	struct connection *next; /* that waits for the same lookup */
	unsigned held;           /* by the handle and by a job in the thread pool */
	bool busy, answered;
	uint64_t began;
	size_t used;
	thrum_task task, request, job;
	char in[512], out[256];
};

/* A question to the database, shared by all who ask it. */
struct lookup {
	uv_timer_t timer; /* stands for the database's answer */
	struct worker *worker;
	struct lookup *next;
	struct connection *waiters;
	unsigned user;
	bool abandoned; /* one of those who waited has left */
	thrum_task task;
};

static void connection_close(struct connection *connection);
static void connection_serve(struct connection *connection);
static void lookup_answered(uv_timer_t *timer);

/* ---- Replies --------------------------------------------------------------------------------- */

static void reply_written(uv_write_t *write, int status)
{
	struct connection *connection = write->data;

	worker_awake(connection->worker);
	if (status < 0) {
		connection_close(connection);
		return;
	}
	connection->busy = false;
	if (connection->used > 0) {
		THRUM_RUN (connection->task)
			connection_serve(connection);
	}
}

static void respond(struct connection *connection, int status, const char *text)
{
	int length = snprintf(connection->out, sizeof connection->out,
		"HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n\r\n%s", status,
		status == 200 ? "OK" : "Failed", strlen(text), text);
	uv_buf_t buffer = uv_buf_init(connection->out, (unsigned)length);

	connection->answered = true;
	thrum_tag_value(&status_sent, status);
	if (status == 200)
		thrum_task_resolve(connection->request);
	else
		thrum_task_fail(connection->request, text);
	connection->worker->answered++;
	thrum_counter_add(requests_served, 1);
	thrum_counter_add(bytes_sent, length);
	thrum_counter_observe(latency_us, (int64_t)((uv_hrtime() - connection->began) / 1000));
	connection->write.data = connection;
	if (uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &buffer, 1,
		    reply_written))
		connection_close(connection);
}

/* ---- The database ---------------------------------------------------------------------------- */

static void lookup_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void lookup_remove(struct lookup *lookup)
{
	struct lookup **link = &lookup->worker->lookups;

	while (*link != lookup)
		link = &(*link)->next;
	*link = lookup->next;
	uv_close((uv_handle_t *)&lookup->timer, lookup_closed);
}

static void database_release(struct worker *worker)
{
	worker->served = NULL;
	thrum_lock_released(worker->database);
}

/* Gives the database, if it is free, to the next lookup. */
static void database_serve(struct worker *worker)
{
	struct lookup *lookup = worker->lookups;
	unsigned ms;

	/* --hang: the planted bug. A lookup that one client walked away from is passed over, as if
	 * nobody wanted it any more. But others may still wait for it. */
	while (lookup && options.hang && lookup->abandoned)
		lookup = lookup->next;
	if (!lookup || worker->served)
		return;
	worker->served = lookup;
	ms = lookup->user == 0 ? WARM_UP_MS : 1 + lookup->user % 3;
	THRUM_RUN (lookup->task) {
		thrum_lock_acquired(worker->database);
		thrum_task_due(lookup->task, ms * INT64_C(1000000));
	}
	uv_timer_start(&lookup->timer, lookup_answered, ms, 0);
}

static void lookup_answered(uv_timer_t *timer)
{
	struct lookup *lookup = timer->data;
	struct worker *worker = lookup->worker;
	struct connection *connection;
	char text[32];

	THRUM_RUN (lookup->task) {
		database_release(worker);
		thrum_task_resolve(lookup->task);
	}
	snprintf(text, sizeof text, "user %u\n", lookup->user);
	while ((connection = lookup->waiters)) {
		lookup->waiters = connection->next;
		connection->lookup = NULL;
		THRUM_RUN (connection->request) {
			thrum_task_read(connection->request, lookup->task);
			respond(connection, 200, text);
		}
	}
	lookup_remove(lookup);
	database_serve(worker);
}

static struct lookup *lookup_create(struct worker *worker, unsigned user)
{
	struct lookup **link = &worker->lookups;
	struct lookup *lookup = calloc(1, sizeof *lookup);

	if (!lookup)
		return NULL;
	lookup->worker = worker;
	lookup->user = user;
	uv_timer_init(&worker->loop, &lookup->timer);
	lookup->timer.data = lookup;
	while (*link)
		link = &(*link)->next;
	*link = lookup;
	lookup->task = thrum_task_createf(THRUM_KIND_REQUEST, "lookup user %u", user);
	thrum_task_should_resolve(lookup->task);
	if (worker->served)
		thrum_task_wait(lookup->task, worker->database);
	return lookup;
}

static void connection_look_up(struct connection *connection, unsigned user)
{
	struct worker *worker = connection->worker;
	struct lookup *lookup = worker->lookups;

	while (lookup && lookup->user != user)
		lookup = lookup->next;
	if (!lookup)
		lookup = lookup_create(worker, user);
	if (!lookup) {
		respond(connection, 503, "out of memory");
		return;
	}
	connection->lookup = lookup;
	connection->next = lookup->waiters;
	lookup->waiters = connection;
	thrum_task_wait(connection->request, lookup->task);
	database_serve(worker);
}

/* Handles a client that has hung up: its request waits no longer. A lookup that no other request
 * waits for is dropped. */
static void connection_abandon(struct connection *connection)
{
	struct lookup *lookup = connection->lookup;
	struct worker *worker = lookup->worker;
	struct connection **link = &lookup->waiters;

	while (*link != connection)
		link = &(*link)->next;
	*link = connection->next;
	connection->lookup = NULL;
	lookup->abandoned = true;
	if (lookup->waiters)
		return;
	THRUM_RUN (lookup->task) {
		if (worker->served == lookup)
			database_release(worker);
		thrum_task_cancel(lookup->task);
	}
	lookup_remove(lookup);
	database_serve(worker);
}

/* ---- Reports, computed by the thread pool ---------------------------------------------------- */

static void connection_release(struct connection *connection)
{
	if (--connection->held == 0)
		free(connection);
}

/* Runs in a thread of the pool, which has a lane of its own. */
static void report_compute(uv_work_t *work)
{
	static _Thread_local bool named;
	struct connection *connection = work->data;
	volatile uint32_t sum = 0;

	if (!named) {
		thrum_lane_name("pool");
		named = true;
	}
	THRUM_RUN (connection->job) {
		thrum_span_begin(&computing);
		for (uint32_t i = 0; i < 50000; i++)
			sum = sum * 31 + i;
		thrum_span_end(&computing);
		thrum_task_resolve(connection->job);
	}
}

static void report_computed(uv_work_t *work, int status)
{
	struct connection *connection = work->data;

	worker_awake(connection->worker);
	if (status == UV_ECANCELED) {
		thrum_task_cancel(connection->job);
	} else if (!uv_is_closing((uv_handle_t *)&connection->tcp)) {
		THRUM_RUN (connection->request) {
			thrum_task_read(connection->request, connection->job);
			respond(connection, 200, "all is well\n");
		}
	}
	connection_release(connection);
}

static void connection_report(struct connection *connection, unsigned number)
{
	connection->job = thrum_task_createf(THRUM_KIND_ASYNC, "report %u", number);
	connection->work.data = connection;
	connection->held++;
	thrum_task_wait(connection->request, connection->job);
	/* This fails only without a callback. */
	uv_queue_work(&connection->worker->loop, &connection->work, report_compute,
		report_computed);
}

/* ---- Connections and their requests ---------------------------------------------------------- */

static void connection_closed(uv_handle_t *handle)
{
	connection_release(handle->data);
}

static void connection_close(struct connection *connection)
{
	if (uv_is_closing((uv_handle_t *)&connection->tcp))
		return;
	if (connection->busy && !connection->answered)
		thrum_task_cancel(connection->request);
	if (connection->lookup)
		connection_abandon(connection);
	if (connection->held > 1)
		uv_cancel((uv_req_t *)&connection->work);
	thrum_counter_add(connections_open, -1);
	thrum_task_resolve(connection->task);
	uv_close((uv_handle_t *)&connection->tcp, connection_closed);
}

static void request_route(struct connection *connection, const char *path)
{
	unsigned number;

	if (strcmp(path, "/") == 0)
		respond(connection, 200, "hello\n");
	else if (sscanf(path, "/user/%u", &number) == 1)
		connection_look_up(connection, number);
	else if (sscanf(path, "/report/%u", &number) == 1)
		connection_report(connection, number);
	else
		respond(connection, 404, "not found");
}

/* Takes the next request out of the buffer, if it is complete. */
static void connection_serve(struct connection *connection)
{
	char path[33], id[17];
	char *end;
	int found;

	connection->in[connection->used] = 0;
	if (connection->busy || !(end = strstr(connection->in, "\r\n\r\n")))
		return;
	thrum_span_begin(&parsing);
	end[2] = 0;
	found = sscanf(connection->in, "GET %32s HTTP/1.1\r\nRequest-Id: %16s\r\n", path, id);
	thrum_span_end(&parsing);
	if (found != 2) {
		connection_close(connection);
		return;
	}
	end += 4;
	connection->used -= (size_t)(end - connection->in);
	memmove(connection->in, end, connection->used);
	connection->busy = true;
	connection->answered = false;
	connection->began = uv_hrtime();
	thrum_link_receive(id, strlen(id));
	connection->request = thrum_task_createf(THRUM_KIND_REQUEST, "GET %s", path);
	thrum_task_should_resolve(connection->request);
	THRUM_RUN (connection->request)
		request_route(connection, path);
}

static void connection_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct connection *connection = handle->data;

	(void)size;
	/* If no room is left, libuv reports an error, and the connection is closed. */
	*buffer = uv_buf_init(connection->in + connection->used,
		(unsigned)(sizeof connection->in - 1 - connection->used));
}

static void connection_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;

	(void)buffer;
	worker_awake(connection->worker);
	THRUM_RUN (connection->task) {
		if (size < 0) {
			connection_close(connection);
		} else {
			connection->used += (size_t)size;
			connection_serve(connection);
		}
	}
}

static void server_accept(uv_stream_t *listener, int status)
{
	struct worker *worker = listener->data;
	struct connection *connection;

	worker_awake(worker);
	if (status < 0 || !(connection = calloc(1, sizeof *connection)))
		return;
	connection->worker = worker;
	connection->held = 1;
	connection->task = thrum_task_create(THRUM_KIND_HANDLE, "connection");
	thrum_counter_add(connections_open, 1);
	uv_tcp_init(&worker->loop, &connection->tcp);
	connection->tcp.data = connection;
	if (uv_accept(listener, (uv_stream_t *)&connection->tcp) ||
		uv_read_start((uv_stream_t *)&connection->tcp, connection_buffer, connection_read))
		connection_close(connection);
}

void server_start(struct worker *worker)
{
	uv_stream_t *listener = (uv_stream_t *)&worker->listener;
	struct sockaddr *address = (struct sockaddr *)&worker->address;
	int size = sizeof worker->address;

	worker->database = thrum_task_create(THRUM_KIND_LOCK, "database");
	must(uv_ip4_addr("127.0.0.1", 0, &worker->address), "address");
	must(uv_tcp_init(&worker->loop, &worker->listener), "socket");
	listener->data = worker;
	must(uv_tcp_bind(&worker->listener, address, 0), "bind");
	must(uv_listen(listener, 128, server_accept), "listen");
	must(uv_tcp_getsockname(&worker->listener, address, &size), "port");
	thrum_logf("listening on port %u", ntohs(worker->address.sin_port));
}
