/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: cache_get calls the loader while it holds the shard's lock. Thread api-2 loads user 6, whose
 *     team 2 is in the same shard: the loader's own cache_get locks the same mutex again, which isn't
 *     recursive. api-2 waits for itself; api-1 and api-3 need team 2 and hang behind it.
 *   culprit: api-2
 *   victim: api-1|api-3
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A service of user profiles with a sharded cache in front of its database; three threads answer
 * requests. A profile contains the user's team, which is cached too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARDS 4
#define SLOTS 16

/* ---- The cache ------------------------------------------------------------------------------- */

struct entry {
	char kind; /* 'u': a user, 't': a team; 0: the slot is free */
	int id;
	char text[64];
};

static struct shard {
	pthread_mutex_t lock;
	struct entry slots[SLOTS];
	unsigned hits, misses;
} shards[SHARDS];

typedef void loader(int id, char text[64]);

static struct entry *find_slot(struct shard *shard, char kind, int id)
{
	for (int i = 0; i < SLOTS; i++) {
		struct entry *entry = &shard->slots[i];

		if (!entry->kind || (entry->kind == kind && entry->id == id))
			return entry;
	}
	return &shard->slots[0];
}

/* Finds a value, or loads it: under the lock, so that no two threads load the same. */
static __attribute__((noinline)) void cache_get(char kind, int id, loader *load, char text[64])
{
	struct shard *shard = &shards[id % SHARDS];
	struct entry *entry;

	pthread_mutex_lock(&shard->lock);
	entry = find_slot(shard, kind, id);
	if (entry->kind == kind && entry->id == id) {
		shard->hits++;
	} else {
		shard->misses++;
		load(id, entry->text);
		entry->kind = kind;
		entry->id = id;
	}
	memcpy(text, entry->text, sizeof entry->text);
	pthread_mutex_unlock(&shard->lock);
}

/* ---- The database ---------------------------------------------------------------------------- */

static __attribute__((noinline)) void database_ask(void)
{
	usleep(15000);
}

static __attribute__((noinline)) void load_team(int id, char text[64])
{
	database_ask();
	snprintf(text, 64, "team %d", id);
}

static int team_of(int user)
{
	return user % 2 ? 3 : 2;
}

static __attribute__((noinline)) void load_user(int id, char text[64])
{
	char team[64];

	database_ask();
	cache_get('t', team_of(id), load_team, team);
	snprintf(text, 64, "user %d of %.40s", id, team);
}

/* ---- Requests -------------------------------------------------------------------------------- */

struct request {
	char kind;
	int id;
};

struct client {
	const char *name;
	const struct request *requests;
	useconds_t begins;
};

static __attribute__((noinline)) void answer(const struct request *request)
{
	char text[64];

	cache_get(request->kind, request->id, request->kind == 'u' ? load_user : load_team, text);
	printf("%s\n", text);
}

static void *serve_client(void *data)
{
	const struct client *client = data;

	pthread_setname_np(pthread_self(), client->name);
	usleep(client->begins);
	for (const struct request *request = client->requests; request->kind; request++) {
		answer(request);
		usleep(60000);
	}
	return NULL;
}

static void print_statistics(void)
{
	unsigned hits = 0, misses = 0;

	for (int i = 0; i < SHARDS; i++) {
		hits += shards[i].hits;
		misses += shards[i].misses;
	}
	printf("%u hits, %u misses\n", hits, misses);
}

int main(int count, char **arguments)
{
	/* Users and teams are numbered by another service. */
	static const struct request old_users[] = {{'u', 4}, {'u', 5}, {'u', 8}, {'u', 24}, {0, 0}};
	static const struct request new_users[] = {{'u', 5}, {'u', 9}, {'u', 6}, {'u', 5}, {0, 0}};
	static const struct request old_again[] = {{'u', 5}, {'u', 9}, {'u', 12}, {'u', 5}, {0, 0}};
	static const struct request first[] = {{'t', 3}, {'u', 4}, {'t', 3}, {'u', 16}, {'u', 20},
		{0, 0}};
	int healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	struct client clients[] = {
		{"api-1", old_users, 10000},
		{"api-2", healthy ? old_again : new_users, 20000},
		{"api-3", first, 30000},
	};
	pthread_t threads[3];

	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_init(&shards[i].lock, NULL);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, serve_client, &clients[i]))
			return 2;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	print_statistics();
	return 0;
}
