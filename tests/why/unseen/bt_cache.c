/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: When an answer arrives, cache_store wakes only one of the clients that wait for the name (pthread_cond_signal),
 *     though several share one lookup. The others wait for a wake-up that never comes.
 *   culprit: cache_store|\bfilled\b
 *   victim: thread (client|browser)
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* A caching resolver. Clients that ask for the same name share one query to the upstream server. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES 64

struct entry {
	char name[40];
	unsigned address;
	bool known;
	pthread_cond_t filled;
	struct entry *next_query;
};

static struct entry entries[ENTRIES];
static int entry_count;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t query_added = PTHREAD_COND_INITIALIZER;
static struct entry *queries;
static unsigned long hits, misses, clients_done;
static bool share_wakeups;

/* The caller holds the lock. */
static struct entry *cache_find(const char *name)
{
	for (int i = 0; i < entry_count; i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

/* The caller holds the lock. */
static struct entry *cache_query(const char *name)
{
	struct entry *entry = &entries[entry_count++ % ENTRIES];

	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->known = false;
	pthread_cond_init(&entry->filled, NULL);
	entry->next_query = queries;
	queries = entry;
	pthread_cond_signal(&query_added);
	return entry;
}

static void cache_store(struct entry *entry, unsigned address)
{
	pthread_mutex_lock(&cache_lock);
	entry->address = address;
	entry->known = true;
	if (share_wakeups)
		pthread_cond_broadcast(&entry->filled);
	else
		pthread_cond_signal(&entry->filled);
	pthread_mutex_unlock(&cache_lock);
}

static unsigned resolve(const char *name)
{
	struct entry *entry;
	unsigned address;

	pthread_mutex_lock(&cache_lock);
	entry = cache_find(name);
	if (entry && entry->known) {
		hits++;
	} else {
		misses++;
		if (!entry)
			entry = cache_query(name);
		while (!entry->known)
			pthread_cond_wait(&entry->filled, &cache_lock);
	}
	address = entry->address;
	pthread_mutex_unlock(&cache_lock);
	return address;
}

static void *upstream(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "upstream");
	for (;;) {
		struct entry *entry;
		unsigned address = 5381;

		pthread_mutex_lock(&cache_lock);
		while (!queries)
			pthread_cond_wait(&query_added, &cache_lock);
		entry = queries;
		queries = entry->next_query;
		pthread_mutex_unlock(&cache_lock);
		usleep(60000); /* the round trip */
		for (const char *c = entry->name; *c; c++)
			address = address * 33 + (unsigned char)*c;
		cache_store(entry, address);
	}
	return NULL;
}

static void *client(void *data)
{
	static const char *const names[] = {"mail.example", "www.example", "cdn.example",
		"api.example"};
	char title[16];

	snprintf(title, sizeof(title), "client %d", (int)(long)data);
	pthread_setname_np(pthread_self(), title);
	for (unsigned i = 0; i < 8; i++) {
		resolve(names[i % 4]);
		usleep(10000);
	}
	pthread_mutex_lock(&cache_lock);
	clients_done++;
	pthread_mutex_unlock(&cache_lock);
	return NULL;
}

/* Keeps names fresh that are asked for often. */
static void *prefetch(void *unused)
{
	char name[40];

	(void)unused;
	pthread_setname_np(pthread_self(), "prefetch");
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "host%d.lan", i % 8);
		resolve(name);
		usleep(50000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[6], other;

	share_wakeups = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&other, NULL, upstream, NULL);
	pthread_create(&other, NULL, prefetch, NULL);
	for (long i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, client, (void *)(i + 1));
	for (;;) {
		usleep(200000);
		pthread_mutex_lock(&cache_lock);
		printf("hits %lu, misses %lu, clients done %lu\n", hits, misses, clients_done);
		fflush(stdout);
		pthread_mutex_unlock(&cache_lock);
	}
}
