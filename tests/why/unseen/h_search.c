/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The bad run never loads one of its indexes: the task "load index users" is missing, because its entry in the manifest has an old generation and is skipped. Each search in users then goes through the slow "scan users" instead of "look up users", and takes longer.
 *   culprit: load index users
 *   victim: scan users|search users
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A search server: loads its indexes at the start, and answers queries in several shards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

struct shard {
	const char *name;
	unsigned generation; /* of its index, in the manifest */
	unsigned load_ms;
	bool indexed;
	unsigned queries;
};

static struct shard shards[] = {
	{.name = "orders", .generation = 12, .load_ms = 12},
	{.name = "users", .generation = 9, .load_ms = 8},
	{.name = "events", .generation = 14, .load_ms = 20},
	{.name = "invoices", .generation = 12, .load_ms = 10},
};
#define SHARDS (sizeof(shards) / sizeof(shards[0]))
#define ROUNDS 12

static struct thrum_loop *loop;
static struct thrum_semaphore *readers; /* how many may read from the disk at a time */
static unsigned oldest_generation;
static unsigned found;

/* ---- Start ---- */

static struct thrum_promise *read_index(struct thrum_loop *loop, void *data)
{
	struct shard *shard = data;

	return thrum_promise_label(thrum_sleep(loop, shard->load_ms), "read file");
}

static struct thrum_promise *index_loaded(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *shard = data;

	shard->indexed = true;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *load_index(struct shard *shard)
{
	struct thrum_promise *promise;

	promise = thrum_semaphore_with(readers, read_index, shard, NULL);
	promise = thrum_promise_bind(promise, index_loaded, shard, NULL);
	return thrum_promise_labelf(promise, "load index %s", shard->name);
}

static struct thrum_promise *load_all(void)
{
	struct thrum_promise *loads[SHARDS];
	size_t count = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		if (shards[i].generation < oldest_generation)
			continue;
		loads[count++] = load_index(&shards[i]);
	}
	return thrum_promise_label(thrum_promise_join(loop, loads, count), "start");
}

/* ---- Queries ---- */

static struct thrum_promise *rank(struct thrum_loop *loop, void *value, void *data)
{
	struct shard *shard = data;

	shard->queries++;
	found += shard->queries % 3;
	return thrum_promise_pause(loop);
}

static struct thrum_promise *search(struct shard *shard)
{
	struct thrum_promise *promise;

	if (shard->indexed)
		promise = thrum_promise_labelf(thrum_sleep(loop, 1), "look up %s", shard->name);
	else
		promise = thrum_promise_labelf(thrum_sleep(loop, 35), "scan %s", shard->name);
	promise = thrum_promise_bind(promise, rank, shard, NULL);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(promise, "search %s", shard->name));
}

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t round = thrum_int(data);
	struct thrum_promise *queries[SHARDS + 1], *all;

	if (round == ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < SHARDS; i++)
		queries[i] = search(&shards[i]);
	queries[SHARDS] = thrum_promise_label(thrum_sleep(loop, 8), "next client");
	all = thrum_promise_join(loop, queries, SHARDS + 1);
	return thrum_promise_bind(all, next_round, (void *)(round + 1), NULL);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_label(next_round(loop, NULL, NULL), "serve");
}

int main(int argc, char **argv)
{
	struct thrum_promise *server;
	int result;

	if (argc != 2)
		return 2;
	alarm(5);
	oldest_generation = strcmp(argv[1], "broken") ? 8 : 10;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	readers = thrum_semaphore_create(loop, "readers", 2);
	server = thrum_promise_label(thrum_promise_bind(load_all(), serve, NULL, NULL), "server");
	result = thrum_promise_run(thrum_promise_should_resolve(server));
	for (size_t i = 0; i < SHARDS; i++)
		printf("%s: %u queries\n", shards[i].name, shards[i].queries);
	thrum_stop();
	thrum_semaphore_destroy(readers);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
