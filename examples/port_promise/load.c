/* SPDX-License-Identifier: ISC */
/* The clients. Each asks for a number of keys, one after the other, and checks the replies. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client {
	struct port *port;
	struct talk *talk;
	uint32_t random;
	unsigned sent;
	char request[LINE_SIZE], expected[LINE_SIZE];
};

static struct thrum_promise *ask(struct client *client);

/* ---- Asking ---------------------------------------------------------------------------------- */

static unsigned pick(struct client *client, unsigned count)
{
	client->random = client->random * 1103515245 + 12345;
	return (client->random >> 16) % count;
}

/* Chooses a key. Every 16th key is a slow one, and every other 16th key doesn't exist. */
static void choose(struct client *client)
{
	unsigned number = pick(client, client->port->options.keys);
	const char *kind = number % 16 == 7 ? "slow" : number % 16 == 11 ? "none" : "key";

	snprintf(client->request, sizeof client->request, "GET %s-%u", kind, number);
	if (number % 16 == 11)
		snprintf(client->expected, sizeof client->expected, "ERROR no such key");
	else
		snprintf(client->expected, sizeof client->expected, "VALUE of %s-%u", kind, number);
}

static struct thrum_promise *got_reply(struct thrum_loop *loop, void *line, void *data)
{
	struct client *client = data;

	if (!line)
		return thrum_promise_return(loop, thrum_value_none());
	client->port->replies++;
	client->port->wrong += strcmp(line, client->expected) != 0;
	return ask(client);
}

static struct thrum_promise *wait_for_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)loop, (void)value;
	return thrum_promise_bind(talk_next(client->talk), got_reply, client, NULL);
}

static struct thrum_promise *ask(struct client *client)
{
	if (client->sent++ == client->port->options.requests)
		return thrum_promise_return(client->port->loop, thrum_value_none());
	choose(client);
	return thrum_promise_bind(talk_say(client->talk, client->request), wait_for_reply, client,
		NULL);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static struct thrum_promise *hang_up(struct thrum_loop *loop, void *data)
{
	talk_close(data);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *connection, void *data)
{
	struct client *client = data;

	(void)connection;
	client->talk = talk_take(loop, client->port);
	if (!client->talk)
		return NULL;
	return thrum_promise_finalize(ask(client), hang_up, client->talk, NULL);
}

struct thrum_promise *load_run(struct port *port)
{
	struct sockaddr *address = (struct sockaddr *)&port->proxy_address;
	unsigned count = port->options.clients;
	struct thrum_promise **all = calloc(count, sizeof *all), *done;

	port->clients = calloc(count, sizeof *port->clients);
	if (!all || !port->clients) {
		free(all);
		return thrum_promise_fail(port->loop, -ENOMEM, NULL);
	}
	for (unsigned i = 0; i < count; i++) {
		port->clients[i] = (struct client){.port = port, .random = i + 1};
		all[i] = thrum_promise_labelf(thrum_promise_bind(thrum_tcp_connect(port->loop,
									 address),
						      connected, &port->clients[i], NULL),
			"client %u", i);
	}
	done = thrum_promise_join(port->loop, all, count);
	free(all);
	return done;
}
