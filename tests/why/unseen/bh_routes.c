/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: the thread "probe" looks at all routes in turn, each under the table's lock. If a route is
 *     disabled, route_probe returns early, and doesn't release the read lock. So reload_routes never gets
 *     the lock for writing, and then nobody gets it for reading either.
 *   culprit: route_probe|thread probe
 *   victim: reload_routes|forward
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ROUTES = 32,
	FORWARDERS = 3,
	CHUNK = 10
};

struct route {
	unsigned prefix, metric, generation;
	bool is_disabled;
};

static pthread_rwlock_t table_lock;
static struct route table[ROUTES];
static unsigned long forwarded, unreachable;
static unsigned reloads;
static bool release_disabled;

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* The caller unlocks the table when it no longer needs the route. */
static __attribute__((noinline)) const struct route *route_find(unsigned address)
{
	const struct route *route;

	pthread_rwlock_rdlock(&table_lock);
	route = &table[address % ROUTES];
	if (route->prefix != address % ROUTES) {
		pthread_rwlock_unlock(&table_lock);
		return NULL;
	}
	if (route->is_disabled) {
		pthread_rwlock_unlock(&table_lock);
		return NULL;
	}
	return route;
}

static __attribute__((noinline)) bool forward_packet(unsigned address)
{
	const struct route *route = route_find(address);
	unsigned checksum = address;

	if (!route) {
		__atomic_add_fetch(&unreachable, 1, __ATOMIC_RELAXED);
		return false;
	}
	for (unsigned i = 0; i < 2000; i++)
		checksum = checksum * 31 + route->metric;
	pthread_rwlock_unlock(&table_lock);
	__atomic_add_fetch(&forwarded, 1 + (checksum & 1), __ATOMIC_RELAXED);
	return true;
}

static void *forward(void *data)
{
	unsigned address = (unsigned)(long)data * 977;
	char name[16];

	snprintf(name, sizeof name, "forward-%ld", (long)data);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		for (unsigned i = 0; i < CHUNK; i++) {
			forward_packet(address);
			address = address * 1103515245 + 12345;
		}
		pause_ms(1);
	}
	return NULL;
}

/* Sends a probe over a route, and notes how good it is. */
static __attribute__((noinline)) int route_probe(unsigned number)
{
	unsigned quality = 0;

	pthread_rwlock_rdlock(&table_lock);
	if (table[number].is_disabled) {
		if (release_disabled)
			pthread_rwlock_unlock(&table_lock);
		return -1;
	}
	for (unsigned i = 0; i < 500; i++)
		quality = quality * 17 + table[number].metric;
	pthread_rwlock_unlock(&table_lock);
	return (int)(quality % 100);
}

static void *probe(void *data)
{
	unsigned bad = 0;

	pthread_setname_np(pthread_self(), "probe");
	for (unsigned i = 0;; i++) {
		if (route_probe(i % ROUTES) < 10)
			bad++;
		if (i % 500 == 499)
			fprintf(stderr, "%u of %u probes were bad\n", bad, i + 1);
		pause_ms(1);
	}
	return data;
}

static __attribute__((noinline)) void reload_routes(void)
{
	pthread_rwlock_wrlock(&table_lock);
	for (unsigned i = 0; i < ROUTES; i++) {
		table[i].metric = table[i].metric * 5 + i;
		table[i].generation++;
		/* An operator disables a route in the 20th generation. */
		table[i].is_disabled = i == 17 && table[i].generation >= 20;
	}
	pthread_rwlock_unlock(&table_lock);
	reloads++;
}

static void *watch_config(void *data)
{
	pthread_setname_np(pthread_self(), "config");
	for (;;) {
		pause_ms(15);
		reload_routes();
	}
	return data;
}

int main(int count, char **arguments)
{
	pthread_rwlockattr_t attributes;
	pthread_t thread;

	release_disabled = count < 2 || strcmp(arguments[1], "broken");
	pthread_rwlockattr_init(&attributes);
	/* Without this, writers starve. */
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table_lock, &attributes);
	for (unsigned i = 0; i < ROUTES; i++)
		table[i] = (struct route){.prefix = i, .metric = 1};
	for (long i = 1; i <= FORWARDERS; i++)
		if (pthread_create(&thread, NULL, forward, (void *)i))
			return 1;
	if (pthread_create(&thread, NULL, watch_config, NULL) ||
		pthread_create(&thread, NULL, probe, NULL))
		return 1;
	for (;;) {
		pause_ms(200);
		fprintf(stderr, "%lu forwarded, %lu unreachable\n",
			__atomic_load_n(&forwarded, __ATOMIC_RELAXED),
			__atomic_load_n(&unreachable, __ATOMIC_RELAXED));
	}
}
