/* SPDX-License-Identifier: ISC */
/* Connections: reading, writing, closing. */
#include "promise/uv/connection.h"
#include <string.h>

/* ---- Making connections ---------------------------------------------------------------------- */

int thrum__promise_socket_init(union thrum__promise_socket *uv, struct thrum__promise_held *held,
	bool is_pipe)
{
	uv_loop_t *loop = thrum_loop_uv(held->loop);
	int code = is_pipe ? uv_pipe_init(loop, &uv->pipe, 0) : uv_tcp_init(loop, &uv->tcp);

	uv->handle.data = held;
	return code;
}

bool thrum__promise_pipe_path_fits(const char *path)
{
	return strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path);
}

/* Closes the socket. The promise of a read fails here; libuv ends the writes. */
static void stop_connection(struct thrum__promise_held *held)
{
	struct thrum_connection *connection = (struct thrum_connection *)held;

	thrum__promise_uv_close(&connection->uv.handle);
	thrum__promise_uv_fail(&connection->reader, connection->reader_site, -ECANCELED);
}

int thrum__promise_connection_create(struct thrum_loop *loop, bool is_pipe,
	struct thrum_connection **made)
{
	struct thrum_connection *connection = thrum__promise_hold(loop, sizeof(*connection),
		stop_connection);
	int code;

	if (!connection)
		return -ENOMEM;
	code = thrum__promise_socket_init(&connection->uv, &connection->held, is_pipe);
	if (code != 0) {
		thrum__promise_held_end(&connection->held);
		return code;
	}
	*made = connection;
	return 0;
}

/* Finds the name of the peer. A pipe that was accepted has no name at the other end; it gets the
 * one of this end. */
static void find_peer(struct thrum_connection *connection)
{
	struct sockaddr_storage peer;
	int peer_size = sizeof(peer);
	size_t room = sizeof(connection->peer) - 1;

	connection->knows_peer = true;
	if (connection->uv.handle.type == UV_TCP) {
		if (uv_tcp_getpeername(&connection->uv.tcp, (struct sockaddr *)&peer, &peer_size) ==
			0)
			thrum__promise_address_name((struct sockaddr *)&peer, connection->peer,
				sizeof(connection->peer));
		return;
	}
	if (uv_pipe_getpeername(&connection->uv.pipe, connection->peer, &room) != 0 || room == 0) {
		room = sizeof(connection->peer) - 1;
		uv_pipe_getsockname(&connection->uv.pipe, connection->peer, &room);
	}
}

/* Room for one word and the name of a peer. */
#define PEER_LABEL_SIZE (THRUM__PROMISE_PEER_SIZE + 16)

/* Copies a word and the name of the peer to `label`, and returns that. It runs with each read, so
 * it asks the system for the name only once in each connection, and doesn't use printf. */
static const char *make_peer_label(struct thrum_connection *connection, const char *word,
	char *label)
{
	size_t length = strlen(word);

	if (!connection->knows_peer)
		find_peer(connection);
	assert(length + 1 + sizeof(connection->peer) <= PEER_LABEL_SIZE);
	memcpy(label, word, length + 1);
	if (connection->peer[0]) {
		label[length] = ' ';
		strcpy(label + length + 1, connection->peer);
	}
	return label;
}

/* Returns a label such as `read 127.0.0.1:80`, or NULL while nothing is recorded. */
static inline const char *label_with_peer(struct thrum_connection *connection, const char *word,
	char label[PEER_LABEL_SIZE])
{
	return thrum_enabled() ? make_peer_label(connection, word, label) : NULL;
}

void thrum__promise_connection_trace(struct thrum_connection *connection, struct thrum_site *site)
{
	char label[PEER_LABEL_SIZE];

	if (thrum_enabled())
		connection->task = thrum__promise_trace_create(site, THRUM_KIND_HANDLE,
			label_with_peer(connection,
				connection->uv.handle.type == UV_TCP ? "tcp" : "pipe", label));
}

struct uv_stream_s *thrum_connection_uv(const struct thrum_connection *connection)
{
	return connection ? (uv_stream_t *)(uintptr_t)&connection->uv.stream : NULL;
}

static bool connection_is_closing(const struct thrum_connection *connection)
{
	return uv_is_closing(&connection->uv.handle);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Libuv goes on reading while no read is under way, because stopping and starting cost system
 * calls. Only when bytes come then, which stay in the kernel, does this stop it. Meanwhile the
 * handle doesn't keep the loop alive. */
static void stop_reading(struct thrum_connection *connection)
{
	connection->is_reading = false;
	uv_read_stop(&connection->uv.stream);
}

static void read_canceled(struct thrum_resolver *resolver, void *data)
{
	struct thrum_connection *connection = data;

	connection->reader = NULL;
	uv_unref(&connection->uv.handle);
	thrum_resolver_drop(resolver);
}

/* On Unix libuv reads and calls us before it does anything else, so all connections share one
 * buffer. */
static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct thrum_connection *connection = handle->data;

	buffer->base = connection->reader ? thrum__promise_loop_buffer(connection->held.loop)
					  : NULL;
	buffer->len = buffer->base ? THRUM__PROMISE_BUFFER_SIZE : 0;
}

/* Ends the read: with so many bytes, with the end of the input for 0, or with a code. */
static void end_read(struct thrum_connection *connection, ssize_t size, const char *from)
{
	struct thrum_bytes *bytes = NULL;

	uv_unref(&connection->uv.handle);
	if (size > 0)
		bytes = thrum__promise_bytes_create(connection->held.loop, (size_t)size);
	if (bytes)
		memcpy(bytes->data, from, (size_t)size);
	if (bytes || size == 0)
		thrum__promise_uv_resolve(&connection->reader,
			bytes ? thrum__promise_owned_value(bytes) : thrum_value_none());
	else
		thrum__promise_uv_fail(&connection->reader, connection->reader_site,
			size > 0 || size == UV_ENOBUFS ? -ENOMEM : (int)size);
}

static void bytes_came(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct thrum_connection *connection = stream->data;

	thrum__promise_loop_resume(connection->held.loop);
	if (size < 0)
		stop_reading(connection);
	if (size != 0 && connection->reader)
		end_read(connection, size == UV_EOF ? 0 : size, buffer->base);
}

struct thrum_promise *thrum__connection_read(struct thrum_site *site,
	struct thrum_connection *connection)
{
	struct thrum_loop *loop;
	struct thrum_promise *promise;
	char label[PEER_LABEL_SIZE];
	int code;

	if (!connection)
		return NULL;
	loop = connection->held.loop;
	if (connection->reader || connection_is_closing(connection))
		return thrum__promise_fail_code(site, loop,
			connection->reader ? -EBUSY : -ECANCELED);
	promise = thrum__promise_request(site, loop, THRUM_KIND_REQUEST,
		label_with_peer(connection, "read", label), read_canceled, connection,
		&connection->reader);
	connection->reader_site = site;
	if (thrum_promise_state(promise) == THRUM_PROMISE_FAILED) {
		thrum__promise_uv_fail(&connection->reader, site, -ENOMEM);
		return promise;
	}
	thrum_task_wait(thrum_promise_task_id(promise), connection->task);
	uv_ref(&connection->uv.handle);
	code = connection->is_reading
		? 0
		: uv_read_start(&connection->uv.stream, give_buffer, bytes_came);
	connection->is_reading = code == 0;
	if (code != 0)
		end_read(connection, code, NULL);
	return promise;
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct writing {
	struct thrum__promise_held held;
	union {
		uv_write_t write;
		uv_shutdown_t shutdown;
	} request;
	struct thrum_value value;
};

/* Destroys the value before callbacks run, which may write again. */
static void end_writing(struct writing *writing, int status)
{
	thrum_value_destroy(writing->value);
	thrum__promise_uv_end(&writing->held, status, thrum_value_none());
}

static void write_done(uv_write_t *request, int status)
{
	end_writing(request->data, status);
}

static void shutdown_done(uv_shutdown_t *request, int status)
{
	end_writing(request->data, status);
}

/* Begins a write or a shutdown, which libuv does in order. Consumes the value. Returns NULL if that
 * failed; `promise` has then failed too. */
static struct writing *begin_writing(struct thrum_site *site, struct thrum_connection *connection,
	const char *word, struct thrum_value value, struct thrum_promise **promise)
{
	struct thrum_loop *loop = connection->held.loop;
	char label[PEER_LABEL_SIZE];
	struct writing *writing = NULL;
	bool began = false;

	if (connection_is_closing(connection))
		*promise = thrum__promise_fail_code(site, loop, -ECANCELED);
	else if (!(writing = thrum__promise_hold(loop, sizeof(*writing), NULL)))
		*promise = thrum__promise_no_memory(loop);
	else
		*promise = thrum__promise_uv_begin(&writing->held, site, THRUM_KIND_REQUEST,
			label_with_peer(connection, word, label), thrum__promise_canceled_nothing,
			&began);
	if (!began) {
		thrum_value_destroy(value);
		return NULL;
	}
	writing->value = value;
	thrum_task_wait(thrum_promise_task_id(*promise), connection->task);
	return writing;
}

struct thrum_promise *thrum__connection_write(struct thrum_site *site,
	struct thrum_connection *connection, struct thrum_value data, size_t size)
{
	uv_buf_t buffer = {.base = data.data, .len = size};
	struct thrum_promise *promise;
	struct writing *writing;
	int code;

	if (!connection || (size > 0 && !data.data)) {
		thrum_value_destroy(data);
		return connection ? thrum__promise_fail_code(site, connection->held.loop, -EINVAL)
				  : NULL;
	}
	writing = begin_writing(site, connection, "write", data, &promise);
	if (!writing)
		return promise;
	writing->request.write.data = writing;
	code = uv_write(&writing->request.write, &connection->uv.stream, &buffer, 1, write_done);
	if (code != 0)
		end_writing(writing, code);
	return promise;
}

struct thrum_promise *thrum__connection_shutdown(struct thrum_site *site,
	struct thrum_connection *connection)
{
	struct thrum_promise *promise;
	struct writing *writing;
	int code;

	if (!connection)
		return NULL;
	writing = begin_writing(site, connection, "shutdown", thrum_value_none(), &promise);
	if (!writing)
		return promise;
	writing->request.shutdown.data = writing;
	code = uv_shutdown(&writing->request.shutdown, &connection->uv.stream, shutdown_done);
	if (code != 0)
		end_writing(writing, code);
	return promise;
}

/* ---- Closing --------------------------------------------------------------------------------- */

struct thrum_promise *thrum__connection_close(struct thrum_site *site,
	struct thrum_connection *connection)
{
	struct thrum_promise *promise;
	char label[PEER_LABEL_SIZE];

	if (!connection)
		return NULL;
	if (connection_is_closing(connection))
		return thrum__promise_fail_code(site, connection->held.loop, -EALREADY);
	promise = thrum__promise_request(site, connection->held.loop, THRUM_KIND_REQUEST,
		label_with_peer(connection, "close", label), NULL, NULL,
		&connection->held.resolver);
	thrum_task_resolve(connection->task);
	stop_connection(&connection->held);
	return promise;
}

void thrum__promise_connection_drop(struct thrum_connection *connection)
{
	if (connection_is_closing(connection))
		return;
	thrum_task_resolve(connection->task);
	stop_connection(&connection->held);
}

static void drop_connection(void *data)
{
	thrum__promise_connection_drop(data);
}

struct thrum_value thrum__promise_connection_value(struct thrum_connection *connection)
{
	return thrum_value_own(connection, drop_connection);
}
