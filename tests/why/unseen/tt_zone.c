/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: answer_query holds zone_lock for reading and calls chase_alias, which takes it for reading again.
 *     The lock prefers writers, and reload_zone waits in between, so the query waits behind itself.
 *   culprit: chase_alias|answer_query
 *   victim: reload
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAMES 12
#define RESOLVERS 3
#define QUERIES 120

struct record {
	char name[32];
	char alias[32]; /* empty: the name has an address */
	unsigned address;
};

static pthread_rwlock_t zone_lock;
static struct record zone[NAMES];
static unsigned zone_serial;
static atomic_uint answered, refused;
static atomic_bool finished;
static bool broken;

static void fill_zone(unsigned serial)
{
	for (int i = 0; i < NAMES; i++) {
		snprintf(zone[i].name, sizeof(zone[i].name), "host%d.example.org", i);
		zone[i].address = 0x0a000000u + serial * 256u + (unsigned)i;
		zone[i].alias[0] = 0;
		if (i % 4 == 3)
			snprintf(zone[i].alias, sizeof(zone[i].alias), "host%d.example.org", i - 1);
	}
	zone_serial = serial;
}

/* The caller holds the lock. */
static const struct record *find_record(const char *name)
{
	for (int i = 0; i < NAMES; i++) {
		if (!strcmp(zone[i].name, name))
			return &zone[i];
	}
	return NULL;
}

/* Returns the address of a name that is an alias of another one. */
static unsigned chase_alias(const char *name)
{
	const struct record *record;
	unsigned address = 0;

	if (broken)
		pthread_rwlock_rdlock(&zone_lock);
	record = find_record(name);
	if (record)
		address = record->address;
	if (broken)
		pthread_rwlock_unlock(&zone_lock);
	return address;
}

/* Compares the name with the list of names that are blocked. */
static bool check_policy(const char *name)
{
	usleep(2000);
	return strncmp(name, "ads.", 4) != 0;
}

static unsigned answer_query(const char *name)
{
	const struct record *record;
	unsigned address = 0;

	pthread_rwlock_rdlock(&zone_lock);
	record = find_record(name);
	if (record && !record->alias[0])
		address = record->address;
	else if (record && check_policy(record->alias))
		address = chase_alias(record->alias);
	pthread_rwlock_unlock(&zone_lock);
	return address;
}

static void *run_resolver(void *argument)
{
	int id = (int)(long)argument;
	char name[32];

	snprintf(name, sizeof(name), "resolver-%d", id);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < QUERIES; i++) {
		snprintf(name, sizeof(name), "host%d.example.org", (i * 5 + id) % (NAMES + 1));
		if (answer_query(name))
			answered++;
		else
			refused++;
		usleep(300);
	}
	return NULL;
}

static void reload_zone(unsigned serial)
{
	pthread_rwlock_wrlock(&zone_lock);
	fill_zone(serial);
	usleep(500);
	pthread_rwlock_unlock(&zone_lock);
}

static void *run_reload(void *unused)
{
	unsigned serial = 1;

	pthread_setname_np(pthread_self(), "reload");
	while (!finished) {
		usleep(4000);
		reload_zone(++serial);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t reload, resolvers[RESOLVERS];
	pthread_rwlockattr_t attributes;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&zone_lock, &attributes);
	fill_zone(1);
	for (long i = 0; i < RESOLVERS; i++)
		pthread_create(&resolvers[i], NULL, run_resolver, (void *)(i + 1));
	pthread_create(&reload, NULL, run_reload, NULL);
	for (int i = 0; i < RESOLVERS; i++)
		pthread_join(resolvers[i], NULL);
	finished = true;
	pthread_join(reload, NULL);
	printf("answered %u, refused %u, serial %u\n", answered, refused, zone_serial);
	return 0;
}
