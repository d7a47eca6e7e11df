/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self live 2500
 *   ask: why
 *   truth: store_order returns without pool_put when a row is a duplicate. After two of these both connections of the
 *     pool are lost, and all later orders wait in pool_get for ever.
 *   culprit: store_order|store order (7|14)\b|duplicate
 *   victim: web worker
 * case: healthy
 *   args: healthy
 *   run: self live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A shop's worker threads store orders over a small pool of database connections. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define CONNECTIONS 2
#define WORKERS 3

static bool fixed;
static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_changed = PTHREAD_COND_INITIALIZER;
static bool pool_busy[CONNECTIONS];
static thrum_task pool_task;

static pthread_mutex_t number_mutex = PTHREAD_MUTEX_INITIALIZER;
static int last_number;
static unsigned stored;

THRUM_TAG(database, NULL, "database", 0);
THRUM_TAG(think, NULL, "pause", 0);

static int pool_find(void)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (!pool_busy[i])
			return i;
	return -1;
}

static int pool_get(void)
{
	int connection;

	pthread_mutex_lock(&pool_mutex);
	connection = pool_find();
	if (connection < 0) {
		thrum_task_wait(thrum_task_current(), pool_task);
		thrum_suspend(THRUM_BLOCKED);
		while ((connection = pool_find()) < 0)
			pthread_cond_wait(&pool_changed, &pool_mutex);
		thrum_resume();
	}
	pool_busy[connection] = true;
	thrum_lock_acquired(pool_task);
	pthread_mutex_unlock(&pool_mutex);
	return connection;
}

static void pool_put(int connection)
{
	pthread_mutex_lock(&pool_mutex);
	pool_busy[connection] = false;
	thrum_lock_released(pool_task);
	pthread_cond_signal(&pool_changed);
	pthread_mutex_unlock(&pool_mutex);
}

static bool insert_row(int number)
{
	thrum_suspend(&database);
	usleep(4000);
	thrum_resume();
	return number % 7 != 0; /* the browser has sent it twice */
}

static int store_order(int number)
{
	int connection = pool_get();

	if (!insert_row(number)) {
		thrum_logf("order %d is a duplicate", number);
		if (fixed)
			pool_put(connection);
		return -1;
	}
	__atomic_add_fetch(&stored, 1, __ATOMIC_RELAXED);
	pool_put(connection);
	return 0;
}

static int next_order(void)
{
	int number;

	pthread_mutex_lock(&number_mutex);
	number = ++last_number;
	pthread_mutex_unlock(&number_mutex);
	return number;
}

static void *web_worker(void *data)
{
	const char *name = data;

	thrum_lane_name(name);
	for (;;) {
		int number = next_order();
		thrum_task order = thrum_task_createf(THRUM_KIND_TASK, "store order %d", number);

		thrum_task_should_resolve(order);
		THRUM_RUN (order) {
			store_order(number);
			thrum_task_resolve(order);
		}
		thrum_suspend(&think);
		usleep(12000);
		thrum_resume();
	}
	return NULL;
}

static void *statistics(void *data)
{
	(void)data;
	thrum_lane_name("statistics");
	for (;;) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(250000);
		thrum_resume();
		printf("%u orders stored\n", __atomic_load_n(&stored, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *names[WORKERS] = {"web worker 1", "web worker 2", "web worker 3"};
	pthread_t thread;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	pool_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "connection pool");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread, NULL, web_worker, (void *)names[i]);
	pthread_create(&thread, NULL, statistics, NULL);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause();
		thrum_resume();
	}
}
