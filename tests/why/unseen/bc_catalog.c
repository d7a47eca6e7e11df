/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: resolve_alias() in thread query-1 is called with the catalog's read lock held (catalog_answer),
 *     and asks for the write lock of the same rwlock in order to store what it learnt: it waits for itself
 *     for ever; the refresher and other queries that want to write wait behind it, and main joins them
 *   culprit: query-1|resolve_alias
 *   victim: refresher|query-0|query-2|main|catalog_learn
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A name server's catalog of zones: many readers, now and then a writer who stores a new answer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ENTRIES = 64,
	QUERIES = 40,
	CLIENTS = 3
};

struct entry {
	char name[32];
	char target[32]; /* of an alias; else empty */
	unsigned address;
};

struct catalog {
	pthread_rwlock_t lock;
	struct entry entries[ENTRIES];
	int used;
	unsigned generation;
};

static struct catalog catalog = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static bool
	early_release; /* the answer is copied, and the lock released, before aliases are followed */
static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop_changed = PTHREAD_COND_INITIALIZER;
static bool stopping;

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

/* The caller holds the lock. */
static struct entry *catalog_find(const char *name)
{
	for (int i = 0; i < catalog.used; i++)
		if (!strcmp(catalog.entries[i].name, name))
			return &catalog.entries[i];
	return NULL;
}

/* The caller holds the lock for writing. */
static void catalog_put(const char *name, const char *target, unsigned address)
{
	struct entry *entry = catalog_find(name);

	if (!entry && catalog.used < ENTRIES)
		entry = &catalog.entries[catalog.used++];
	if (!entry)
		return;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	snprintf(entry->target, sizeof(entry->target), "%s", target);
	entry->address = address;
}

static unsigned ask_upstream(const char *name)
{
	unsigned hash = 5381;

	pause_us(1500);
	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* Stores an answer that wasn't known. */
static __attribute__((noinline)) unsigned catalog_learn(const char *name)
{
	unsigned address = ask_upstream(name);

	pthread_rwlock_wrlock(&catalog.lock);
	catalog_put(name, "", address);
	catalog.generation++;
	pthread_rwlock_unlock(&catalog.lock);
	return address;
}

/* Follows an alias to its target, and flattens it: the alias has the address itself from then on. */
static __attribute__((noinline)) unsigned resolve_alias(const char *name, const char *target)
{
	unsigned address = ask_upstream(target);

	pthread_rwlock_wrlock(&catalog.lock);
	catalog_put(name, "", address);
	catalog_put(target, "", address);
	pthread_rwlock_unlock(&catalog.lock);
	return address;
}

static __attribute__((noinline)) unsigned catalog_answer(const char *name)
{
	struct entry *entry, copy;
	unsigned address;

	pthread_rwlock_rdlock(&catalog.lock);
	entry = catalog_find(name);
	if (!entry) {
		pthread_rwlock_unlock(&catalog.lock);
		return catalog_learn(name);
	}
	if (!entry->target[0]) {
		address = entry->address;
		pthread_rwlock_unlock(&catalog.lock);
		return address;
	}
	copy = *entry;
	if (early_release) {
		pthread_rwlock_unlock(&catalog.lock);
		return resolve_alias(copy.name, copy.target);
	}
	address = resolve_alias(copy.name, copy.target);
	pthread_rwlock_unlock(&catalog.lock);
	return address;
}

/* Drops what is old, every 20 ms. */
static void *refresh(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "refresher");
	pthread_mutex_lock(&stop_lock);
	while (!stopping) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&stop_changed, &stop_lock, &until);
		pthread_mutex_unlock(&stop_lock);
		pthread_rwlock_wrlock(&catalog.lock);
		if (catalog.used > ENTRIES / 2)
			catalog.used = ENTRIES / 2;
		catalog.generation++;
		pthread_rwlock_unlock(&catalog.lock);
		pthread_mutex_lock(&stop_lock);
	}
	pthread_mutex_unlock(&stop_lock);
	return NULL;
}

static void *client(void *data)
{
	int number = (int)(long)data;
	unsigned sum = 0;
	char name[32];

	snprintf(name, sizeof(name), "query-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < QUERIES; i++) {
		if (number == 1 && i == QUERIES / 2)
			snprintf(name, sizeof(name), "www.example");
		else
			snprintf(name, sizeof(name), "host%d.example", (i * 7 + number * 3) % 25);
		sum += catalog_answer(name);
		pause_us(2000);
	}
	return (void *)(long)(sum != 0);
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], refresher;
	int answered = 0;

	early_release = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_rwlock_wrlock(&catalog.lock);
	catalog_put("www.example", "host99.example", 0);
	pthread_rwlock_unlock(&catalog.lock);
	pthread_create(&refresher, NULL, refresh, NULL);
	for (long i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, client, (void *)i);
	for (int i = 0; i < CLIENTS; i++) {
		void *result;

		pthread_join(clients[i], &result);
		answered += (int)(long)result;
	}
	pthread_mutex_lock(&stop_lock);
	stopping = true;
	pthread_cond_signal(&stop_changed);
	pthread_mutex_unlock(&stop_lock);
	pthread_join(refresher, NULL);
	printf("%d clients, %d names, generation %u\n", answered, catalog.used, catalog.generation);
	return answered == CLIENTS ? 0 : 1;
}
