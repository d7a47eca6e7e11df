/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread analyze holds the catalog's read lock and takes it again in type_of while the thread reload already waits to write; the lock prefers writers, so the second read lock waits for reload, and reload for the first one. The queries then block behind the waiting writer.
 *   culprit: analyze
 *   victim: reload|query-|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A database's catalog: many readers, and now and then a writer that loads it anew. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLES 80
#define QUERIES 4

struct table {
	char name[24];
	int type, rows;
};

static pthread_rwlock_t catalog_lock;
static struct table catalog[TABLES];
static unsigned catalog_version;
static bool pinned; /* the caller of type_of holds the lock */
static sem_t analysis_begun;
static long answers;

static int type_find(int table)
{
	return catalog[table].type;
}

static int type_of(int table)
{
	int type;

	if (pinned)
		return type_find(table);
	pthread_rwlock_rdlock(&catalog_lock);
	type = type_find(table);
	pthread_rwlock_unlock(&catalog_lock);
	return type;
}

/* Reads samples of all tables, so that the planner knows how many rows to expect. */
static void *analyze_run(void *data)
{
	long rows = 0;

	pthread_setname_np(pthread_self(), "analyze");
	pthread_rwlock_rdlock(&catalog_lock);
	sem_post(&analysis_begun);
	for (int i = 0; i < TABLES; i++) {
		usleep(4000); /* the sample comes from the disk */
		if (type_of(i) != 3)
			rows += catalog[i].rows;
	}
	pthread_rwlock_unlock(&catalog_lock);
	printf("analyze: %ld rows\n", rows);
	return NULL;
}

static void query(int table)
{
	pthread_rwlock_rdlock(&catalog_lock);
	if (catalog[table].rows >= 0)
		__atomic_add_fetch(&answers, 1, __ATOMIC_RELAXED);
	usleep(200);
	pthread_rwlock_unlock(&catalog_lock);
}

static void *query_run(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "query-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 60; i++) {
		query((i * 7 + number) % TABLES);
		usleep(2500 + 300 * number);
	}
	return NULL;
}

static void *reload_run(void *data)
{
	pthread_setname_np(pthread_self(), "reload");
	sem_wait(&analysis_begun);
	usleep(15000);
	pthread_rwlock_wrlock(&catalog_lock);
	for (int i = 0; i < TABLES; i++)
		catalog[i].rows += i;
	catalog_version++;
	pthread_rwlock_unlock(&catalog_lock);
	return NULL;
}

/* Writes what is in memory to the log, without the catalog. */
static void *checkpoint_run(void *data)
{
	pthread_setname_np(pthread_self(), "checkpoint");
	for (int i = 0; i < 30; i++)
		usleep(10000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t analyze, reload, checkpoint, queries[QUERIES];
	pthread_rwlockattr_t attributes;

	if (argc != 2)
		return 2;
	alarm(5);
	pinned = strcmp(argv[1], "broken") != 0;
	sem_init(&analysis_begun, 0, 0);
	pthread_rwlockattr_init(&attributes);
	/* Without this a reload never gets its turn under load. */
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&catalog_lock, &attributes);
	for (int i = 0; i < TABLES; i++) {
		snprintf(catalog[i].name, sizeof(catalog[i].name), "table_%d", i);
		catalog[i].type = i % 5;
		catalog[i].rows = 100 + i;
	}
	pthread_create(&checkpoint, NULL, checkpoint_run, NULL);
	for (long i = 0; i < QUERIES; i++)
		pthread_create(&queries[i], NULL, query_run, (void *)i);
	pthread_create(&reload, NULL, reload_run, NULL);
	pthread_create(&analyze, NULL, analyze_run, NULL);
	for (int i = 0; i < QUERIES; i++)
		pthread_join(queries[i], NULL);
	pthread_join(reload, NULL);
	pthread_join(analyze, NULL);
	pthread_join(checkpoint, NULL);
	printf("version %u, %ld answers\n", catalog_version, answers);
	return 0;
}
