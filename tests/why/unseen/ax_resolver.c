/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: after_upstream stores the end of an answer's life in seconds, where cache_find expects
 *     milliseconds: what is in the cache always seems to be too old, and each lookup asks upstream again
 *     (upstream_work); the clients wait longer
 *   culprit: upstream_work|upstream_query|after_upstream|cache_find
 *   victim: client|on_pause|answer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A caching resolver: clients look names up, the cache answers, or else the upstream server is asked. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define NAMES 8
#define CLIENTS 3
#define LOOKUPS 24

struct entry {
	char name[32];
	unsigned address;
	uint64_t expires; /* in milliseconds of the loop's clock */
};

struct client;

struct query {
	uv_work_t work;
	struct resolver *resolver;
	struct query *next;
	struct client *waiters;
	char name[32];
	unsigned address;
};

struct client {
	struct resolver *resolver;
	struct client *next;
	uv_timer_t pause;
	int number;
	int lookups;
	unsigned sum;
};

struct resolver {
	uv_loop_t *loop;
	struct entry cache[NAMES];
	int entries;
	struct query *queries;
	struct client clients[CLIENTS];
	int upstream;
	int hits;
	uint64_t ticks_per_second; /* of entry.expires */
};

static void client_next(struct client *client);

static unsigned hash_name(const char *name)
{
	unsigned hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static struct entry *cache_find(struct resolver *resolver, const char *name)
{
	for (int i = 0; i < resolver->entries; i++) {
		struct entry *entry = &resolver->cache[i];

		if (!strcmp(entry->name, name))
			return entry->expires > uv_now(resolver->loop) ? entry : NULL;
	}
	return NULL;
}

static void cache_store(struct resolver *resolver, const char *name, unsigned address,
	uint64_t expires)
{
	struct entry *entry = NULL;

	for (int i = 0; i < resolver->entries && !entry; i++)
		if (!strcmp(resolver->cache[i].name, name))
			entry = &resolver->cache[i];
	if (!entry)
		entry = &resolver->cache[resolver->entries++];
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->address = address;
	entry->expires = expires;
}

static void client_answer(struct client *client, unsigned address)
{
	client->sum ^= address;
	client_next(client);
}

/* Speaks with the server upstream; it takes a round trip. */
static void upstream_work(uv_work_t *work)
{
	struct query *query = work->data;

	usleep(18000);
	query->address = hash_name(query->name);
}

static void after_upstream(uv_work_t *work, int status)
{
	struct query *query = work->data, **place;
	struct resolver *resolver = query->resolver;
	const uint64_t seconds = 300;
	uint64_t now = uv_now(resolver->loop) * resolver->ticks_per_second / 1000;

	if (status == 0)
		cache_store(resolver, query->name, query->address,
			now + seconds * resolver->ticks_per_second);
	for (place = &resolver->queries; *place != query; place = &(*place)->next)
		;
	*place = query->next;
	while (query->waiters) {
		struct client *client = query->waiters;

		query->waiters = client->next;
		client_answer(client, query->address);
	}
	free(query);
}

static void upstream_query(struct resolver *resolver, const char *name, struct client *client)
{
	struct query *query = resolver->queries;

	while (query && strcmp(query->name, name))
		query = query->next;
	if (!query) {
		query = calloc(1, sizeof(*query));
		if (!query)
			abort();
		query->resolver = resolver;
		query->work.data = query;
		snprintf(query->name, sizeof(query->name), "%s", name);
		query->next = resolver->queries;
		resolver->queries = query;
		resolver->upstream++;
		uv_queue_work(resolver->loop, &query->work, upstream_work, after_upstream);
	}
	client->next = query->waiters;
	query->waiters = client;
}

static void client_lookup(struct client *client)
{
	struct resolver *resolver = client->resolver;
	struct entry *entry;
	char name[32];

	snprintf(name, sizeof(name), "host%d.example.org",
		(client->lookups * 5 + client->number) % NAMES);
	client->lookups++;
	entry = cache_find(resolver, name);
	if (entry) {
		resolver->hits++;
		client_answer(client, entry->address);
	} else {
		upstream_query(resolver, name, client);
	}
}

static void on_pause_over(uv_timer_t *timer)
{
	client_lookup(timer->data);
}

static void client_next(struct client *client)
{
	if (client->lookups == LOOKUPS)
		uv_close((uv_handle_t *)&client->pause, NULL);
	else
		uv_timer_start(&client->pause, on_pause_over, 4, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct resolver resolver;

	resolver.loop = uv_default_loop();
	resolver.ticks_per_second = !strcmp(mode, "broken") ? 1 : 1000;
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &resolver.clients[i];

		client->resolver = &resolver;
		client->number = i;
		uv_timer_init(resolver.loop, &client->pause);
		client->pause.data = client;
		client_next(client);
	}
	uv_run(resolver.loop, UV_RUN_DEFAULT);
	uv_loop_close(resolver.loop);
	printf("%d lookups, %d from the cache, %d upstream\n", CLIENTS * LOOKUPS, resolver.hits,
		resolver.upstream);
	return 0;
}
