/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=shop query
 *   truth: A shop query waits for a place of "server connections", both of which are held by slow report queries for 200 ms.
 *   culprit: report query|server connections
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about PgBouncer: when one application runs many slow queries at once, the queries of all others
 * become slow, because the slow ones occupy all server connections of the pool.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CONNECTIONS = 2,
	QUERIES = 16
};

struct pool {
	sem_t places;
	thrum_task task;
};

static struct pool shop_pool, report_pool;
static sem_t reports_run;

static void pool_take(struct pool *pool)
{
	if (sem_trywait(&pool->places)) {
		thrum_task_wait(thrum_task_current(), pool->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&pool->places))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(pool->task);
}

static void pool_give_back(struct pool *pool)
{
	thrum_lock_released(pool->task);
	sem_post(&pool->places);
}

static void pool_create(struct pool *pool, const char *label)
{
	sem_init(&pool->places, 0, CONNECTIONS);
	pool->task = thrum_task_create(THRUM_KIND_SEMAPHORE, label);
}

static void query(struct pool *pool, const char *label, unsigned milliseconds)
{
	thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, label);

	THRUM_RUN (task) {
		pool_take(pool);
		if (milliseconds > 100)
			sem_post(&reports_run);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(milliseconds * 1000);
		thrum_resume();
		pool_give_back(pool);
	}
	thrum_task_resolve(task);
}

static void *run_report(void *pool)
{
	thrum_lane_name("reports");
	query(pool, "report query", 200);
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t reports[CONNECTIONS];

	sem_init(&reports_run, 0, 0);
	pool_create(&shop_pool, "server connections");
	pool_create(&report_pool, "report connections");
	for (int i = 0; i < QUERIES / 2; i++)
		query(&shop_pool, "shop query", 2);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_create(&reports[i], NULL, run_report, broken ? &shop_pool : &report_pool);
	for (int i = 0; i < CONNECTIONS; i++)
		sem_wait(&reports_run);
	for (int i = 0; i < QUERIES / 2; i++)
		query(&shop_pool, "shop query", 2);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(reports[i], NULL);
	puts("done");
	return 0;
}
