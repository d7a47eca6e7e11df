/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The move of shard-2 waits until shard-5, its target, has drained, but that never has a request.
 *     move_shard should have waited for the source, shard-2.
 *   culprit: shard-5 drained|move_shard
 *   victim: client [0-9]|shard-2 moved
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SHARDS 6
#define CLIENTS 5
#define REQUESTS 12
#define HOT 2
#define SPARE 5

struct shard {
	int number, served, in_flight, copies;
	bool moving;
	struct thrum_condition *drained, *moved;
};

struct client {
	int number, sent;
};

static struct shard shards[SHARDS];
static bool broken;

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *move_done(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *from = data;

	(void)value;
	from->moving = false;
	thrum_condition_broadcast(from->moved, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *copy_rows(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *from = data;

	(void)value;
	from->copies++;
	return thrum_promise_bind(thrum_sleep(loop, 6), move_done, from, NULL);
}

/* Moves the hot shard to the spare one. Its requests must have ended before that, and new ones wait. */
static struct thrum_promise *move_shard(struct thrum_loop *loop, void *data)
{
	struct shard *from = data, *to = &shards[SPARE], *busy = broken ? to : from;

	from->moving = true;
	if (!from->in_flight)
		return copy_rows(loop, NULL, from);
	return thrum_promise_bind(thrum_condition_wait(busy->drained, NULL), copy_rows, from, NULL);
}

static struct thrum_promise *served(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *shard = data;

	(void)value;
	shard->served++;
	if (--shard->in_flight == 0)
		thrum_condition_broadcast(shard->drained, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *shard = data;

	(void)value;
	if (shard->moving)
		return thrum_promise_bind(thrum_condition_wait(shard->moved, NULL), serve, shard,
			NULL);
	shard->in_flight++;
	if (shard->number == HOT && shard->served >= 4 && !shard->copies)
		thrum_promise_async(loop, "rebalance", move_shard, shard, NULL);
	return thrum_promise_bind(thrum_sleep(loop, 1 + shard->number % 3), served, shard, NULL);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct shard *shard = &shards[(client->number + client->sent) % (SHARDS - 1)];

	(void)value;
	if (client->sent++ == REQUESTS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(serve(loop, NULL, shard), client_next, client, NULL);
}

static struct thrum_promise *gossip(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 8), gossip, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct client clients[CLIENTS];
	struct thrum_promise *sessions[CLIENTS];
	int error, served_all = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < SHARDS; i++) {
		char label[32];

		shards[i].number = i;
		snprintf(label, sizeof(label), "shard-%d drained", i);
		shards[i].drained = thrum_condition_create(loop, label);
		snprintf(label, sizeof(label), "shard-%d moved", i);
		shards[i].moved = thrum_condition_create(loop, label);
	}
	thrum_promise_ignore_result(gossip(loop, NULL, NULL));
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){i, 0};
		sessions[i] = thrum_promise_bind(thrum_sleep(loop, 1 + i), client_next, &clients[i],
			NULL);
		thrum_promise_labelf(sessions[i], "client %d", i);
		thrum_promise_should_resolve(sessions[i]);
	}
	error = thrum_promise_run(thrum_promise_join(loop, sessions, CLIENTS));
	for (int i = 0; i < SHARDS; i++)
		served_all += shards[i].served;
	printf("served %d requests, moved shard-%d %d times\n", served_all, HOT,
		shards[HOT].copies);
	thrum_stop();
	return error ? 1 : 0;
}
