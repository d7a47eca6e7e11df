/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: follow_alias takes the zone table's read lock a second time while lookup_name of the same thread
 *     holds it; the lock prefers writers and reload_zone waits between the two, so the reader waits behind
 *     the writer and the writer for the reader
 *   culprit: follow_alias
 *   victim: reload_zone|reloader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A resolver with a zone table in memory: query threads read it, a reloader replaces records now and then. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 16
#define QUERIERS 2

struct record {
	char name[32];
	int alias; /* the index of the record that this one stands for, or -1 */
	unsigned address;
	unsigned serial;
};

static struct record zone[RECORDS];
static pthread_rwlock_t zone_lock;
static unsigned zone_serial;
static bool relock;
static unsigned answers[QUERIERS];

static void zone_init(void)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&zone_lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	for (int i = 0; i < RECORDS; i++) {
		snprintf(zone[i].name, sizeof(zone[i].name), "host%d.example", i);
		zone[i].alias = i % 4 == 3 ? i - 1 : -1;
		zone[i].address = 0x0a000001u + (unsigned)i;
	}
}

/* Looks the name up in a slow index on disk. */
static int index_search(int number)
{
	usleep(4000);
	return number % RECORDS;
}

/* Returns the address of an alias's target. The public entry point, too: so it locks. */
__attribute__((noinline)) static unsigned follow_alias(int index)
{
	unsigned address;

	pthread_rwlock_rdlock(&zone_lock);
	while (zone[index].alias >= 0)
		index = zone[index].alias;
	address = zone[index].address;
	pthread_rwlock_unlock(&zone_lock);
	return address;
}

static unsigned follow_alias_locked(int index)
{
	while (zone[index].alias >= 0)
		index = zone[index].alias;
	return zone[index].address;
}

__attribute__((noinline)) static unsigned lookup_name(int number)
{
	unsigned address;
	int index;

	pthread_rwlock_rdlock(&zone_lock);
	index = index_search(number);
	if (zone[index].alias < 0)
		address = zone[index].address;
	else if (relock)
		address = follow_alias(index);
	else
		address = follow_alias_locked(index);
	pthread_rwlock_unlock(&zone_lock);
	return address;
}

static void *querier(void *data)
{
	unsigned *count = data;

	for (int i = 0; i < 60; i++) {
		if (lookup_name(i * 7 + 3))
			++*count;
		usleep(500);
	}
	return NULL;
}

__attribute__((noinline)) static void reload_zone(void)
{
	pthread_rwlock_wrlock(&zone_lock);
	zone_serial++;
	for (int i = 0; i < RECORDS; i++)
		zone[i].serial = zone_serial;
	pthread_rwlock_unlock(&zone_lock);
}

static void *reloader(void *data)
{
	for (int i = 0; i < 40; i++) {
		usleep(3000);
		reload_zone();
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[QUERIERS];
	pthread_t reload;

	relock = argc > 1 && !strcmp(argv[1], "broken");
	zone_init();
	for (int i = 0; i < QUERIERS; i++) {
		char name[16];

		pthread_create(&threads[i], NULL, querier, &answers[i]);
		snprintf(name, sizeof(name), "querier %d", i);
		pthread_setname_np(threads[i], name);
	}
	pthread_create(&reload, NULL, reloader, NULL);
	pthread_setname_np(reload, "reloader");
	for (int i = 0; i < QUERIERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(reload, NULL);
	printf("serial %u, %u answers\n", zone_serial, answers[0] + answers[1]);
	return 0;
}
