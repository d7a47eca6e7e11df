/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: forward_packets holds routes_lock for reading, and find_gateway takes it for reading once more.
 *     The lock prefers writers, so the second one waits behind announce_routes, and that waits for the first.
 *   culprit: forward_packets|find_gateway
 *   victim: announce_routes|count_routes
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUTES 64
#define PACKETS 60

struct route {
	uint32_t network;
	uint32_t mask;
	int gateway;
};

static pthread_rwlock_t routes_lock;
static struct route routes[ROUTES];
static int gateways[8] = {11, 12, 13, 14, 15, 16, 17, 18};
static bool locked_lookup;
static atomic_bool quitting;
static atomic_long forwarded;
static long counted;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void init_routes(void)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&routes_lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	for (int i = 0; i < ROUTES; i++)
		routes[i] = (struct route){.network = 0x0a000000u + ((uint32_t)i << 16),
			.mask = 0xffff0000u,
			.gateway = i % 8};
}

/* The caller holds the lock. */
static int gateway_of(const struct route *route)
{
	return gateways[route->gateway];
}

static int find_gateway(const struct route *route)
{
	int gateway;

	pthread_rwlock_rdlock(&routes_lock);
	gateway = gateway_of(route);
	pthread_rwlock_unlock(&routes_lock);
	return gateway;
}

static const struct route *find_route(uint32_t address)
{
	for (int i = 0; i < ROUTES; i++)
		if ((address & routes[i].mask) == routes[i].network)
			return &routes[i];
	return NULL;
}

/* A burst of packets goes out with one look at the table. */
static void *forward_packets(void *unused)
{
	uint32_t address = 0x0a000001u;

	for (int burst = 0; burst < PACKETS; burst++) {
		long sum = 0;

		pthread_rwlock_rdlock(&routes_lock);
		for (int i = 0; i < 8; i++) {
			const struct route *route = find_route(address);

			if (route)
				sum += locked_lookup ? find_gateway(route) : gateway_of(route);
			pause_us(400); /* the card takes its time */
			address = 0x0a000000u + (address * 1103515245u + 12345u) % (ROUTES << 16);
		}
		pthread_rwlock_unlock(&routes_lock);
		atomic_fetch_add(&forwarded, sum);
		pause_us(500);
	}
	return unused;
}

/* A neighbour tells of a new gateway now and then. */
static void *announce_routes(void *unused)
{
	for (int round = 0; !atomic_load(&quitting); round++) {
		pause_us(7000);
		pthread_rwlock_wrlock(&routes_lock);
		routes[round * 5 % ROUTES].gateway = round % 8;
		gateways[round % 8] = 11 + round % 50;
		pthread_rwlock_unlock(&routes_lock);
	}
	return unused;
}

static void *count_routes(void *data)
{
	long *count = data;

	while (!atomic_load(&quitting)) {
		pthread_rwlock_rdlock(&routes_lock);
		for (int i = 0; i < ROUTES; i++)
			*count += routes[i].gateway == 3;
		pthread_rwlock_unlock(&routes_lock);
		pause_us(9000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t forwarder, announcer, counter;

	if (argc != 2)
		return 2;
	locked_lookup = !strcmp(argv[1], "broken");
	init_routes();
	pthread_create(&announcer, NULL, announce_routes, NULL);
	pthread_create(&counter, NULL, count_routes, &counted);
	pthread_create(&forwarder, NULL, forward_packets, NULL);
	pthread_join(forwarder, NULL);
	atomic_store(&quitting, true);
	pthread_join(announcer, NULL);
	pthread_join(counter, NULL);
	pthread_rwlock_destroy(&routes_lock);
	printf("%ld forwarded, %ld counted\n", atomic_load(&forwarded), counted);
	return 0;
}
