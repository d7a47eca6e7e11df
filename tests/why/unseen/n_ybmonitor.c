/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: store_plan formats the text of the plan while it holds pgsm_lock, which the healthy program does
 *     before; so the queries of all backends wait for the lock, one after the other.
 *   culprit: pgsm_lock|store_plan
 *   victim: run_backend|checkpoint
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about YugabyteDB: the throughput drops with pg_stat_monitor loaded, as backends are stuck
 * acquiring its exclusive lock in the common code path.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKENDS 4
#define QUERIES 12

static pthread_mutex_t pgsm_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t wal_lock = PTHREAD_MUTEX_INITIALIZER;
static char plans[BACKENDS * QUERIES][48];
static int stored, wal;
static bool healthy;

static void execute_query(void)
{
	usleep(3000);
	pthread_mutex_lock(&wal_lock);
	wal++;
	pthread_mutex_unlock(&wal_lock);
}

/* The catalogue gives the names in the plan; it answers after some milliseconds. */
static void format_plan(char *text, size_t size, int backend, int query)
{
	usleep(6000);
	snprintf(text, size, "index scan, backend %d, query %d", backend, query);
}

static void store_plan(int backend, int query)
{
	char text[48];

	if (healthy) {
		format_plan(text, sizeof(text), backend, query);
		pthread_mutex_lock(&pgsm_lock);
	} else {
		pthread_mutex_lock(&pgsm_lock);
		format_plan(text, sizeof(text), backend, query);
	}
	memcpy(plans[stored++], text, sizeof(text));
	pthread_mutex_unlock(&pgsm_lock);
}

static void *run_backend(void *data)
{
	int backend = (int)(long)data;

	for (int i = 0; i < QUERIES; i++) {
		execute_query();
		store_plan(backend, i);
	}
	return NULL;
}

static void *checkpoint(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "checkpointer");
	for (int i = 0; i < 5; i++) {
		usleep(10000);
		pthread_mutex_lock(&wal_lock);
		wal++;
		pthread_mutex_unlock(&wal_lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t backends[BACKENDS], checkpointer;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&checkpointer, NULL, checkpoint, NULL);
	for (long i = 0; i < BACKENDS; i++)
		pthread_create(&backends[i], NULL, run_backend, (void *)i);
	for (int i = 0; i < BACKENDS; i++)
		pthread_join(backends[i], NULL);
	pthread_join(checkpointer, NULL);
	printf("%d plans, %d records\n", stored, wal);
	return 0;
}
