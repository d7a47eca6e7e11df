/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: lookup_city holds cache_lock for reading when it calls cache_insert for a city that isn't cached, and that locks cache_lock for writing: the thread serve_lookups waits for itself. Later threads wait behind it.
 *   culprit: serve_lookups|lookup_city|cache_insert
 *   victim: export_stats|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A service that finds the city of an address, with a cache in front of its file. */

#define SLOTS 64

static pthread_rwlock_t cache_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct {
	uint32_t address;
	int city;
	unsigned hits;
} cache[SLOTS];
static bool broken;
static sem_t warmed_up;

static int read_city_from_file(uint32_t address)
{
	usleep(1500);
	return (int)(address % 97) + 1;
}

static void cache_insert(uint32_t address, int city)
{
	pthread_rwlock_wrlock(&cache_lock);
	cache[address % SLOTS].address = address;
	cache[address % SLOTS].city = city;
	cache[address % SLOTS].hits = 1;
	pthread_rwlock_unlock(&cache_lock);
}

static int lookup_city(uint32_t address)
{
	int city;

	pthread_rwlock_rdlock(&cache_lock);
	if (cache[address % SLOTS].address == address) {
		city = cache[address % SLOTS].city;
		__atomic_add_fetch(&cache[address % SLOTS].hits, 1, __ATOMIC_RELAXED);
		pthread_rwlock_unlock(&cache_lock);
		return city;
	}
	if (broken) {
		city = read_city_from_file(address);
		cache_insert(address, city);
		pthread_rwlock_unlock(&cache_lock);
		return city;
	}
	pthread_rwlock_unlock(&cache_lock);
	city = read_city_from_file(address);
	cache_insert(address, city);
	return city;
}

static void *serve_lookups(void *unused)
{
	long sum = 0;

	(void)unused;
	/* First the addresses that were loaded at the start, then a stranger. */
	for (uint32_t i = 0; i < 200; i++)
		sum += lookup_city(1000 + i % 32);
	sem_post(&warmed_up);
	for (uint32_t i = 0; i < 20; i++)
		sum += lookup_city(5000 + i);
	printf("sum of cities: %ld\n", sum);
	return NULL;
}

/* Counts the hits of all slots, and sets them back. */
static void *export_stats(void *unused)
{
	unsigned hits = 0;

	(void)unused;
	sem_wait(&warmed_up);
	for (int round = 0; round < 10; round++) {
		usleep(20000);
		pthread_rwlock_wrlock(&cache_lock);
		for (int i = 0; i < SLOTS; i++) {
			hits += cache[i].hits;
			cache[i].hits = 0;
		}
		pthread_rwlock_unlock(&cache_lock);
	}
	printf("%u hits\n", hits);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, exporter;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&warmed_up, 0, 0);
	for (uint32_t i = 0; i < 32; i++)
		cache_insert(1000 + i, (int)i);
	pthread_create(&server, NULL, serve_lookups, NULL);
	pthread_create(&exporter, NULL, export_stats, NULL);
	pthread_setname_np(server, "lookup");
	pthread_setname_np(exporter, "stats");
	pthread_join(server, NULL);
	pthread_join(exporter, NULL);
	return 0;
}
