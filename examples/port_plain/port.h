/* SPDX-License-Identifier: ISC */
/* Shared by the parts of the program. */
#ifndef PORT_H
#define PORT_H

/* For uv.h, in strict C11. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <uv.h>

#define LINE_SIZE 128

struct options {
	unsigned clients, requests, keys;
};

/* The whole program; it runs in one loop. */
struct port {
	struct options options;
	uv_loop_t loop;
	struct origin *origin;
	struct upstream *upstream;
	struct proxy *proxy;
	struct load *load;
	struct sockaddr_in origin_address, proxy_address;
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

/* Listens on a free port of the loopback interface. Returns 0 or a negative errno value. */
int listen_somewhere(uv_loop_t *loop, uv_tcp_t *tcp, struct sockaddr_in *address,
	uv_connection_cb accept);

/* ---- origin.c: knows all values, and takes its time ------------------------------------------ */

int origin_start(struct port *port);
void origin_stop(struct port *port);

/* ---- upstream.c: asks the origin ------------------------------------------------------------- */

/* Receives a value ("VALUE …" or "ERROR …"). */
typedef void upstream_answered(const char *reply, void *data);

struct ticket;
int upstream_start(struct port *port);
void upstream_stop(struct port *port);
/* Asks for a key's value. A key that is being asked for already is asked for only once. Returns
 * NULL without memory. */
struct ticket *upstream_ask(struct port *port, const char *key, upstream_answered *answered,
	void *data);
/* Gives up a ticket: its owner no longer wants the value. */
void upstream_forget(struct ticket *ticket);

/* ---- proxy.c: serves the clients; load.c: the clients ---------------------------------------- */

int proxy_start(struct port *port);
void proxy_stop(struct port *port);
int load_start(struct port *port);
void load_stop(struct port *port);
/* main.c: all clients are done. */
void port_done(struct port *port);

#endif
