/* SPDX-License-Identifier: ISC */
/* The clients. Each asks, waits for the reply, rests, and asks again, on one connection. Some lose
 * patience: they hang up and come back with a new connection. */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 400 /* how long a client waits for a reply */
#define HASTE_MS 20     /* how long the impatient client of the planted bug waits */
#define USERS 40

struct client {
	struct worker *worker;
	struct channel *channel;
	unsigned number, sent;
	uint32_t random;
};

static struct thrum_promise *live(struct thrum_loop *loop, struct client *client);

/* ---- Choosing a request ---------------------------------------------------------------------- */

static unsigned pick(struct client *client, unsigned count)
{
	client->random ^= client->random << 13;
	client->random ^= client->random >> 17;
	client->random ^= client->random << 5;
	return client->random % count;
}

/* Makes the planted bug visible (--hang). Two clients ask for the same user. The first one gives up
 * while the database is busy; the second one waits for ever. */
static bool planted(const struct client *client, unsigned number)
{
	return options.hang && client->worker->number == 0 && client->number == number &&
		client->sent == 0;
}

static void choose_path(struct client *client, char *path, size_t size)
{
	unsigned dice = pick(client, 20);

	if (planted(client, 1) || planted(client, 2))
		snprintf(path, size, "/user/42");
	else if (client->number == 0 && client->sent == 0)
		snprintf(path, size, "/user/0");
	else if (dice < 6)
		snprintf(path, size, "/user/%u", 1 + pick(client, USERS));
	else if (dice < 9)
		snprintf(path, size, "/report/%u", pick(client, 10));
	else
		snprintf(path, size, dice < 19 ? "/" : "/nowhere");
}

static unsigned choose_patience(struct client *client)
{
	if (planted(client, 1))
		return HASTE_MS;
	return pick(client, 100) == 0 ? 1 : PATIENCE_MS;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static struct thrum_promise *ask(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *got_reply(struct thrum_loop *loop, void *reply, void *data)
{
	struct client *client = data;

	if (!reply)
		return thrum_promise_fail(loop, -ECONNRESET, NULL);
	if (client->worker->draining || client->sent == options.requests)
		return thrum_promise_return(loop, thrum_value_none());
	if (options.rest == 0)
		return ask(loop, NULL, client);
	return thrum_promise_bind(thrum_sleep(loop, 1 + pick(client, options.rest)), ask, client,
		NULL);
}

static struct thrum_promise *wait_for_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	return channel_next(loop, client->channel);
}

/* Sends the first request when the client is connected, and the next ones when it has rested. */
static struct thrum_promise *ask(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	unsigned patience = choose_patience(client);
	bool for_ever = planted(client, 2);
	char path[32], start[64], id[32];
	struct thrum_promise *reply;

	(void)value;
	choose_path(client, path, sizeof path);
	snprintf(start, sizeof start, "GET %s HTTP/1.1", path);
	client->sent++;
	snprintf(id, sizeof id, "%u.%u.%u", client->worker->number, client->number, client->sent);
	thrum_link_send(id, strlen(id));
	reply = thrum_promise_bind(channel_send(loop, client->channel, start, id, NULL),
		wait_for_reply, client, NULL);
	reply = thrum_promise_should_resolve(thrum_promise_label(reply, "reply"));
	if (!for_ever)
		reply = thrum_timeout(reply, patience);
	return thrum_promise_bind(reply, got_reply, client, NULL);
}

/* ---- Its life -------------------------------------------------------------------------------- */

static struct thrum_promise *hang_up(struct thrum_loop *loop, void *data)
{
	struct client *client = data;

	channel_close(client->channel);
	client->channel = NULL;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *connection, void *data)
{
	struct client *client = data;

	(void)connection;
	client->channel = channel_take(loop);
	if (!client->channel)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	return thrum_promise_finalize(ask(loop, NULL, client), hang_up, client, NULL);
}

static struct thrum_promise *come_back(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct client *client = data;

	if (failure->code != -ETIMEDOUT)
		return thrum_promise_fail_again(loop, failure);
	if (client->worker->draining || client->sent == options.requests)
		return thrum_promise_return(loop, thrum_value_none());
	return live(loop, client);
}

static struct thrum_promise *live(struct thrum_loop *loop, struct client *client)
{
	struct sockaddr *address = (struct sockaddr *)&client->worker->address;
	struct thrum_promise *session = thrum_promise_bind(thrum_tcp_connect(loop, address),
		connected, client, NULL);

	return thrum_promise_catch(session, come_back, client, NULL);
}

struct thrum_promise *clients_run(struct worker *worker)
{
	struct client *clients = calloc(options.clients, sizeof *clients);
	struct thrum_promise **lives = calloc(options.clients, sizeof *lives), *all = NULL;

	worker->clients = clients;
	for (unsigned i = 0; clients && lives && i < options.clients; i++) {
		clients[i] = (struct client){.worker = worker,
			.number = i,
			.random = worker->number * 7919 + i + 1};
		lives[i] = thrum_promise_labelf(live(worker->loop, &clients[i]), "client %u", i);
	}
	if (clients && lives)
		all = thrum_promise_join(worker->loop, lives, options.clients);
	free(lives);
	return all ? thrum_promise_label(all, "clients")
		   : thrum_promise_fail(worker->loop, -ENOMEM, NULL);
}
