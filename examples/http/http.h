/* SPDX-License-Identifier: ISC */
/* Shared by the parts of the example: options, a thread's loop, and messages. */
#ifndef HTTP_H
#define HTTP_H

/* For uv.h, in strict C11. */
#define _GNU_SOURCE
#include <uv.h>

#include <thrum/promise.h>

struct options {
	unsigned seconds, requests, clients, threads, rest;
	bool hang, die;
};
extern struct options options;

extern struct thrum_counter *connections_open, *requests_served, *bytes_sent, *latency_us;

/* A loop, its server and its clients: all that one thread owns. */
struct worker {
	unsigned number;
	uv_thread_t thread;
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct sockaddr_in address; /* of the listener */
	struct thrum_listener *listener;
	struct thrum_switch *connections;
	struct thrum_mutex *database;
	struct lookup *lookups;
	struct client *clients;
	unsigned long answered; /* number of requests */
	uint64_t cpu_ns;
	bool draining;
};

/* ---- message.c: messages on a connection ----------------------------------------------------- */

struct message {
	char start[64]; /* "GET / HTTP/1.1" or "HTTP/1.1 200 OK" */
	char id[20];    /* of the header Request-Id, or empty */
	char body[128];
};

/* A connection, and the bytes that were read from it and not used yet. */
struct channel {
	struct thrum_connection *connection;
	size_t used;
	char in[1024];
	struct message message;
};

/* Takes the connection that a callback was given. Returns NULL without memory. */
struct channel *channel_take(struct thrum_loop *loop);
/* Closes the connection and frees the channel. */
void channel_close(struct channel *channel);

/* Returns a promise for the next struct message, or for NULL at the end. The message belongs to the
 * channel and is valid until the next call. */
struct thrum_promise *channel_next(struct thrum_loop *loop, struct channel *channel);
/* Returns a promise that fails with -ECONNRESET when the other side hangs up, and is never
 * resolved. Bytes that come meanwhile are kept. */
struct thrum_promise *channel_watch(struct thrum_loop *loop, struct channel *channel);
/* Sends "START\r\n", the header Request-Id unless `id` is NULL, and the body unless that is
 * NULL. */
struct thrum_promise *channel_send(struct thrum_loop *loop, struct channel *channel,
	const char *start, const char *id, const char *body);

/* ---- server.c, database.c, clients.c --------------------------------------------------------- */

/* Listens on a free port of the loopback interface. Returns 0 or a negative errno value. */
int server_start(struct worker *worker);
/* Returns a promise that is resolved when all connections are closed. */
struct thrum_promise *server_stop(struct worker *worker);

/* Returns a promise for a text. */
struct thrum_promise *look_up(struct worker *worker, unsigned user);
void database_finish(struct worker *worker);

/* Returns a promise that is resolved when all clients are done. */
struct thrum_promise *clients_run(struct worker *worker);

#endif
