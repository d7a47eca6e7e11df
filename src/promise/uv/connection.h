/* SPDX-License-Identifier: ISC */
/* Connections, for the files that make them (connect.c, listen.c). */
#ifndef PROMISE_UV_CONNECTION_H
#define PROMISE_UV_CONNECTION_H

#include "promise/uv/address.h"
#include <sys/un.h>

union thrum__promise_socket {
	uv_handle_t handle;
	uv_stream_t stream;
	uv_tcp_t tcp;
	uv_pipe_t pipe;
};

/* Room for the name of any peer: an address or a path. */
#define THRUM__PROMISE_PEER_SIZE (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1)
_Static_assert(THRUM__PROMISE_PEER_SIZE >= THRUM__PROMISE_ADDRESS_SIZE,
	"a peer's name may be an address");

struct thrum_connection {
	struct thrum__promise_held held; /* its resolver ends the promise of the close */
	union thrum__promise_socket uv;
	thrum_task task;
	struct thrum_resolver *reader; /* of the read under way, or NULL */
	struct thrum_site *reader_site;
	bool is_reading; /* between uv_read_start and uv_read_stop */
	bool knows_peer;
	char peer[THRUM__PROMISE_PEER_SIZE]; /* set when a label first needs it; may be empty */
};

/* Initializes a socket whose `data` is the block. Returns 0 or a libuv code. */
int thrum__promise_socket_init(union thrum__promise_socket *uv, struct thrum__promise_held *held,
	bool is_pipe);

/* Tells whether a path fits into a socket address; some versions of libuv cut it silently. */
bool thrum__promise_pipe_path_fits(const char *path);

/* Makes a connection that isn't connected yet. Returns 0 or a negative errno value. */
int thrum__promise_connection_create(struct thrum_loop *loop, bool is_pipe,
	struct thrum_connection **connection);

/* Gives a connection that has just been established its task. */
void thrum__promise_connection_trace(struct thrum_connection *connection, struct thrum_site *site);

/* Returns a value that owns the connection. */
struct thrum_value thrum__promise_connection_value(struct thrum_connection *connection);
/* Closes the connection without a promise, unless it is being closed already. */
void thrum__promise_connection_drop(struct thrum_connection *connection);

#endif
