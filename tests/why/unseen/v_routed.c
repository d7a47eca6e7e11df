/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 700
 *   ask: why
 *   truth: learn_route holds route_table as a reader, misses the route, and asks for the same lock as a writer: it waits for itself. The lock prefers writers, so forward_packets hangs behind it.
 *   culprit: learn_route|add_route
 *   victim: forward_packets|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A router's daemon: two forwarders read the table, a third thread adds what is missing. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUTES 64

static pthread_rwlock_t route_table;
static int next_hop[ROUTES];
static bool upgrade;
static unsigned long forwarded[2];

static void pause_us(int us)
{
	struct timespec time = {0, us * 1000L};

	nanosleep(&time, NULL);
}

static void *forward_packets(void *data)
{
	unsigned long *count = data;

	for (int i = 0; i < 150; i++) {
		pthread_rwlock_rdlock(&route_table);
		*count += (unsigned long)next_hop[i % ROUTES] + 1;
		pthread_rwlock_unlock(&route_table);
		pause_us(2000);
	}
	return NULL;
}

static void add_route(int to)
{
	pthread_rwlock_wrlock(&route_table);
	next_hop[to] = to % 4 + 1;
	pthread_rwlock_unlock(&route_table);
}

static void *learn_route(void *unused)
{
	for (int i = 0; i < 30; i++) {
		int to = i % 5 ? 7 : i % ROUTES; /* mostly known ones */

		pause_us(8000);
		pthread_rwlock_rdlock(&route_table);
		if (!next_hop[to]) {
			if (!upgrade || i < 5)
				pthread_rwlock_unlock(&route_table);
			add_route(to);
			if (!upgrade || i < 5)
				continue;
		}
		pthread_rwlock_unlock(&route_table);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t forwarders[2], learner;
	pthread_rwlockattr_t attributes;

	upgrade = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&route_table, &attributes);
	next_hop[7] = 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&forwarders[i], NULL, forward_packets, &forwarded[i]);
	pthread_create(&learner, NULL, learn_route, NULL);
	pthread_join(learner, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(forwarders[i], NULL);
	printf("%lu\n", forwarded[0] + forwarded[1]);
	return 0;
}
