/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: catalog_resolve_view holds the catalog's rwlock for reading and looks tables up with
 *     catalog_find_table, which takes the same rwlock for reading again. The rwlock prefers writers, so when
 *     the ddl thread comes in between (alter_table), the second read lock waits for the writer, and the
 *     writer waits for the first read lock. All planners and the ddl thread hang.
 *   culprit: planner-\d.*([Hh]old|cycle)|cycle.*planner|catalog_resolve_view|catalog_find_table
 *   victim: planner|ddl|catalog_alter_table|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The catalog of a small database: planners resolve views while DDL changes the tables. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TABLES 12
#define PLANNERS 3
#define QUERIES 60
#define ALTERATIONS 25

struct table {
	char name[24];
	unsigned version;
	unsigned columns;
};

struct catalog;
/* Returns how many columns a table has; 0 if there is none. */
typedef unsigned lookup_function(struct catalog *, const char *name);

struct catalog {
	pthread_rwlock_t lock;
	struct table tables[TABLES];
	lookup_function *lookup; /* what views use for their tables */
	unsigned generation;
};

struct planner {
	pthread_t thread;
	struct catalog *catalog;
	int number;
	unsigned long plans, columns;
};

static sem_t statistics_due;
static _Atomic int closing;

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

static unsigned catalog_search(struct catalog *catalog, const char *name)
{
	for (int i = 0; i < TABLES; i++)
		if (!strcmp(catalog->tables[i].name, name))
			return catalog->tables[i].columns;
	return 0;
}

/* For callers that hold no lock. */
static unsigned catalog_find_table(struct catalog *catalog, const char *name)
{
	unsigned columns;

	pthread_rwlock_rdlock(&catalog->lock);
	columns = catalog_search(catalog, name);
	pthread_rwlock_unlock(&catalog->lock);
	return columns;
}

/* For callers that hold the lock. */
static unsigned catalog_find_table_locked(struct catalog *catalog, const char *name)
{
	return catalog_search(catalog, name);
}

/* Parses the text of a view: it comes from disk the first time. */
static int parse_view(int view, char names[3][24])
{
	pause_us(1500);
	for (int i = 0; i < 3; i++)
		snprintf(names[i], sizeof(names[i]), "table_%d", (view * 5 + i * 3) % TABLES);
	return 3;
}

/* The whole view is resolved against one version of the catalog. */
static unsigned catalog_resolve_view(struct catalog *catalog, int view)
{
	char names[3][24];
	unsigned columns = 0;
	int count;

	pthread_rwlock_rdlock(&catalog->lock);
	count = parse_view(view, names);
	for (int i = 0; i < count; i++)
		columns += catalog->lookup(catalog, names[i]);
	pthread_rwlock_unlock(&catalog->lock);
	return columns;
}

static unsigned plan_query(struct planner *planner, int query)
{
	char name[24];

	if (query % 3)
		return catalog_resolve_view(planner->catalog, query);
	snprintf(name, sizeof(name), "table_%d", query % TABLES);
	return catalog_find_table(planner->catalog, name);
}

static void *planner_run(void *data)
{
	struct planner *planner = data;
	char name[16];

	snprintf(name, sizeof(name), "planner-%d", planner->number);
	pthread_setname_np(pthread_self(), name);
	for (int query = 0; query < QUERIES; query++) {
		planner->columns += plan_query(planner, query + planner->number);
		planner->plans++;
		if (query % 20 == 19)
			sem_post(&statistics_due);
		pause_us(300);
	}
	return NULL;
}

static void catalog_alter_table(struct catalog *catalog, int number)
{
	pthread_rwlock_wrlock(&catalog->lock);
	catalog->tables[number].columns = 3 + number % 4;
	catalog->tables[number].version = ++catalog->generation;
	pause_us(200);
	pthread_rwlock_unlock(&catalog->lock);
}

static void *ddl_run(void *data)
{
	struct catalog *catalog = data;

	pthread_setname_np(pthread_self(), "ddl");
	for (int i = 0; i < ALTERATIONS; i++) {
		pause_us(2500);
		catalog_alter_table(catalog, i % TABLES);
	}
	return NULL;
}

/* Idle until some plans have been made. */
static void *statistics_run(void *data)
{
	unsigned *reports = data;

	pthread_setname_np(pthread_self(), "statistics");
	for (;;) {
		sem_wait(&statistics_due);
		if (closing)
			return NULL;
		++*reports;
	}
}

static void catalog_init(struct catalog *catalog, lookup_function *lookup)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&catalog->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	catalog->lookup = lookup;
	for (int i = 0; i < TABLES; i++) {
		snprintf(catalog->tables[i].name, sizeof(catalog->tables[i].name), "table_%d", i);
		catalog->tables[i].columns = 2;
	}
}

int main(int argc, char **argv)
{
	static struct catalog catalog;
	static struct planner planners[PLANNERS];
	pthread_t ddl, statistics;
	unsigned reports = 0;
	unsigned long plans = 0;

	if (argc != 2)
		return 2;
	catalog_init(&catalog,
		strcmp(argv[1], "broken") ? catalog_find_table_locked : catalog_find_table);
	sem_init(&statistics_due, 0, 0);
	pthread_create(&statistics, NULL, statistics_run, &reports);
	pthread_create(&ddl, NULL, ddl_run, &catalog);
	for (int i = 0; i < PLANNERS; i++) {
		planners[i].catalog = &catalog;
		planners[i].number = i + 1;
		pthread_create(&planners[i].thread, NULL, planner_run, &planners[i]);
	}
	for (int i = 0; i < PLANNERS; i++) {
		pthread_join(planners[i].thread, NULL);
		plans += planners[i].plans;
	}
	pthread_join(ddl, NULL);
	closing = 1;
	sem_post(&statistics_due);
	pthread_join(statistics, NULL);
	printf("%lu plans, generation %u, %u reports\n", plans, catalog.generation, reports);
	pthread_rwlock_destroy(&catalog.lock);
	sem_destroy(&statistics_due);
	return 0;
}
