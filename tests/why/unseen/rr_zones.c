/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: follow_alias() returns without unlocking zone_lock when an alias leads to itself. That thread has
 *     ended, its read lock stays, and the thread that refreshes the zone never gets the write lock.
 *   culprit: follow_alias
 *   victim: refresh_zone|load_generation
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This resolver keeps a zone in memory. Threads look names up in it, and one thread refreshes it. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	NAMES = 64,
	CONNECTIONS = 24,
	QUESTIONS = 20,
	GENERATIONS = 8,
	HOPS = 4
};

struct name {
	char label[24];
	unsigned address;
	int alias;
};

static pthread_rwlock_t zone_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct name zone[NAMES];
static unsigned serial;
static atomic_long answered, unknown, followed;
static bool careless;

static int find_label(const char *label)
{
	for (int i = 0; i < NAMES; i++)
		if (!strcmp(zone[i].label, label))
			return i;
	return -1;
}

/* Returns the address, or 0 if there is none. */
static unsigned find_address(const char *label, bool *is_alias)
{
	unsigned address = 0;

	pthread_rwlock_rdlock(&zone_lock);
	int at = find_label(label);
	if (at >= 0) {
		*is_alias = zone[at].alias >= 0;
		address = zone[at].address;
	}
	pthread_rwlock_unlock(&zone_lock);
	return address;
}

static unsigned follow_alias(const char *label)
{
	unsigned address = 0;
	int hops = 0;

	pthread_rwlock_rdlock(&zone_lock);
	int at = find_label(label);
	while (at >= 0 && zone[at].alias >= 0) {
		if (zone[at].alias == at) {
			if (careless)
				return 0;
			break;
		}
		if (++hops > HOPS)
			break;
		at = zone[at].alias;
	}
	if (at >= 0 && zone[at].alias < 0)
		address = zone[at].address;
	usleep(300);
	pthread_rwlock_unlock(&zone_lock);
	atomic_fetch_add(&followed, 1);
	return address;
}

static void answer(const char *label)
{
	bool is_alias = false;
	unsigned address = find_address(label, &is_alias);

	if (is_alias)
		address = follow_alias(label);
	atomic_fetch_add(address ? &answered : &unknown, 1);
}

static void *serve_connection(void *argument)
{
	int connection = (int)(long)argument;
	char label[24];

	for (int i = 0; i < QUESTIONS; i++) {
		snprintf(label, sizeof(label), "host%d", (connection * 7 + i * 5) % NAMES);
		answer(label);
		usleep(200);
	}
	if (connection == 9)
		answer("www-old");
	return NULL;
}

/* The caller holds zone_lock for writing. */
static void load_generation(unsigned generation)
{
	for (int i = 0; i < NAMES; i++) {
		snprintf(zone[i].label, sizeof(zone[i].label), "host%d", i);
		zone[i].address = 0x0a000000u + generation * 256 + (unsigned)i;
		zone[i].alias = i % 4 ? -1 : i + 1;
	}
	/* Somebody made this alias by hand. */
	strcpy(zone[NAMES - 1].label, "www-old");
	zone[NAMES - 1].alias = NAMES - 1;
	serial = generation;
}

static void refresh_zone(unsigned generation)
{
	pthread_rwlock_wrlock(&zone_lock);
	load_generation(generation);
	pthread_rwlock_unlock(&zone_lock);
}

static void *keep_fresh(void *unused)
{
	(void)unused;
	for (unsigned generation = 2; generation <= GENERATIONS; generation++) {
		usleep(15000);
		refresh_zone(generation);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t connections[CONNECTIONS], refresher;

	careless = argc > 1 && !strcmp(argv[1], "broken");
	refresh_zone(1);
	if (pthread_create(&refresher, NULL, keep_fresh, NULL))
		return 1;
	for (int i = 0; i < CONNECTIONS; i++) {
		if (pthread_create(&connections[i], NULL, serve_connection, (void *)(long)i))
			return 1;
		usleep(2000);
	}
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(connections[i], NULL);
	pthread_join(refresher, NULL);
	printf("serial %u: %ld answers, %ld unknown, %ld aliases\n", serial, answered, unknown,
		followed);
	return 0;
}
