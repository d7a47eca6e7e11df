/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: nightly_report takes a slot of the semaphore db_slots for each of its two queries, and gives none back
 *     when a query times out (early continue); it ends with both slots lost. serve_page and sync_inventory wait for a
 *     slot for ever, and main joins them.
 *   culprit: nightly_report
 *   victim: serve_page|sync_inventory|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A shop's backend: at most two database connections, guarded by a semaphore. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sem_t db_slots;
static pthread_mutex_t stats_mutex = PTHREAD_MUTEX_INITIALIZER;
static int queries, timeouts;
static bool forgetful;

static int query(const char *sql, int ms, int limit_ms)
{
	bool late = ms > limit_ms;

	(void)sql;
	usleep((late ? limit_ms : ms) * 1000);
	pthread_mutex_lock(&stats_mutex);
	queries++;
	timeouts += late;
	pthread_mutex_unlock(&stats_mutex);
	return late ? -ETIMEDOUT : 0;
}

static void *nightly_report(void *unused)
{
	static const char *const sections[] = {"SELECT sum(total) FROM orders",
		"SELECT count(*) FROM visits"};

	for (int i = 0; i < 2; i++) {
		sem_wait(&db_slots);
		if (query(sections[i], 900, 40) < 0) {
			fprintf(stderr, "report: section %d skipped\n", i);
			if (forgetful)
				continue;
		}
		sem_post(&db_slots);
	}
	return unused;
}

static void *serve_page(void *unused)
{
	for (int i = 0; i < 12; i++) {
		sem_wait(&db_slots);
		query("SELECT * FROM products LIMIT 20", 8, 40);
		sem_post(&db_slots);
		usleep(6000);
	}
	return unused;
}

static void *sync_inventory(void *unused)
{
	for (int i = 0; i < 6; i++) {
		sem_wait(&db_slots);
		query("UPDATE stock SET left = left - 1", 12, 40);
		sem_post(&db_slots);
		usleep(15000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	forgetful = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&db_slots, 0, 2);
	pthread_create(&threads[0], NULL, serve_page, NULL);
	pthread_create(&threads[1], NULL, sync_inventory, NULL);
	usleep(20000);
	pthread_create(&threads[2], NULL, nightly_report, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d queries, %d timed out\n", queries, timeouts);
	return 0;
}
