/* SPDX-License-Identifier: ISC */
/* Connections, for those who make them. */
#ifndef PROMISE_UV_STREAM_H
#define PROMISE_UV_STREAM_H

#include "promise/uv_address.h"
#include <sys/un.h>

union thrum__socket {
	uv_handle_t handle;
	uv_stream_t stream;
	uv_tcp_t tcp;
	uv_pipe_t pipe;
};

/* Room for the name of any peer: an address or a path. */
#define THRUM__PEER_SIZE (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1)
_Static_assert(THRUM__PEER_SIZE >= THRUM__ADDRESS_SIZE, "a peer's name may be an address");

struct thrum_connection {
	struct thrum__held held; /* its resolver: of who closed it */
	union thrum__socket uv;
	thrum_task task;
	struct thrum_resolver *reader;
	struct thrum_site *reader_site;
	bool is_reading; /* libuv is */
	bool knows_peer;
	char peer[THRUM__PEER_SIZE]; /* its name, once something that was recorded needed it */
};

/* Begins to use a socket, whose data is the block. Returns 0 or a libuv code. */
int thrum__socket_init(union thrum__socket *uv, struct thrum__held *held, bool is_pipe);

/* Whether a path is short enough; some versions of libuv cut it silently. */
bool thrum__pipe_path_fits(const char *path);

/* A connection that isn't connected. Returns 0 or a negative errno value. */
int thrum__connection_create(struct thrum_loop *loop, bool is_pipe,
	struct thrum_connection **connection);

/* It is connected: becomes a task. */
void thrum__connection_trace(struct thrum_connection *connection, struct thrum_site *site);

struct thrum_value thrum__connection_value(struct thrum_connection *connection);
/* Closes it without a promise, unless it is being closed. */
void thrum__connection_drop(struct thrum_connection *connection);

#endif
