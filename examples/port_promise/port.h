/* SPDX-License-Identifier: ISC */
/* Shared by the parts of the program. */
#ifndef PORT_H
#define PORT_H

/* For uv.h, in strict C11. */
#define _GNU_SOURCE
#include <uv.h>

#include <thrum/promise.h>

#define LINE_SIZE 128

struct options {
	unsigned clients, requests, keys;
};

/* The whole program; it runs in one loop. */
struct port {
	struct options options;
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_switch *sessions; /* with the origin and the proxy */
	struct store *asked,
		*known; /* slow keys that the origin was asked for; the proxy's cache */
	struct upstream *upstream;
	struct client *clients;
	struct sockaddr_in origin_address, proxy_address;
	struct service *services;
	unsigned long replies, wrong, lookups, hits, retries;
};

/* ---- common.c: lines, and the table of values ------------------------------------------------ */

struct lines {
	char text[512];
	size_t used;
};

/* Takes the next line out, without its end. */
bool lines_take(struct lines *lines, char line[LINE_SIZE]);

struct store;
struct store *store_create(void);
void store_destroy(struct store *store);
/* Returns the value of a key, or NULL. */
const char *store_find(const struct store *store, const char *key);
/* Returns 0 or a negative errno value. */
int store_put(struct store *store, const char *key, const char *value);

/* ---- talk.c: lines on a connection ----------------------------------------------------------- */

struct talk {
	struct port *port;
	struct thrum_connection *connection;
	struct lines lines;
	char line[LINE_SIZE];
};

/* Takes the connection that a callback was given. Returns NULL without memory. */
struct talk *talk_take(struct thrum_loop *loop, struct port *port);
/* Closes the connection and frees the talk. NULL does nothing. */
void talk_close(struct talk *talk);
/* Returns a promise for the next line, which belongs to the talk, or for NULL at the end. */
struct thrum_promise *talk_next(struct talk *talk);
/* Sends a line, which it copies. */
struct thrum_promise *talk_say(struct talk *talk, const char *line);
/* Ends as the promise does, but cancels it if the other side hangs up before. */
struct thrum_promise *talk_unless_gone(struct talk *talk, struct thrum_promise *promise);

/* Listens on a free port of the loopback interface and serves each connection until the sessions
 * are switched off. Returns 0 or a negative errno value. */
typedef struct thrum_promise *talk_serve(struct talk *talk);
int service_start(struct port *port, talk_serve *serve, struct sockaddr_in *address);
void services_stop(struct port *port);

/* ---- The parts ------------------------------------------------------------------------------- */

/* origin.c: knows all values, and takes its time. */
talk_serve origin_serve;

/* proxy.c: serves the clients. */
talk_serve proxy_serve;

/* upstream.c: asks the origin. */
int upstream_start(struct port *port);
void upstream_stop(struct port *port);
/* Returns a promise for a key's value ("VALUE …" or "ERROR …"). A key that is being asked for
 * already is asked for only once. */
struct thrum_promise *upstream_ask(struct port *port, const char *key);

/* load.c: the clients. Returns a promise that is resolved when all are done. */
struct thrum_promise *load_run(struct port *port);

#endif
