/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: the solver holds the catalog for reading and takes it for reading again in lookup(); between the two
 *          the refresher began to wait for writing, and the lock prefers writers. Solver and refresher wait for
 *          each other; the http threads hang behind them.
 *   culprit: solve
 *   victim: (refresh|http)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A dependency solver over a package catalog which is refreshed now and then. */
static pthread_rwlock_t catalog;
static thrum_task catalog_task;
static int broken;

static void catalog_lock(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&catalog) : pthread_rwlock_tryrdlock(&catalog)) {
		thrum_task_wait(thrum_task_current(), catalog_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&catalog);
		else
			pthread_rwlock_rdlock(&catalog);
		thrum_resume();
	}
	thrum_lock_acquired(catalog_task);
}

static void catalog_unlock(void)
{
	thrum_lock_released(catalog_task);
	pthread_rwlock_unlock(&catalog);
}

static void lookup(bool locked)
{
	if (!locked)
		catalog_lock(false);
	usleep(2000);
	if (!locked)
		catalog_unlock();
}

static void *solve(void *data)
{
	thrum_lane_name("solver");
	for (int round = 0; round < 3; round++) {
		catalog_lock(false);
		usleep(round == 1 ? 100000 : 15000); /* backtracking */
		lookup(!broken);
		catalog_unlock();
		usleep(10000);
	}
	return data;
}

static void *refresh(void *data)
{
	thrum_lane_name("refresher");
	for (int i = 0; i < 2; i++) {
		usleep(i ? 120000 : 75000);
		catalog_lock(true);
		usleep(8000);
		catalog_unlock();
	}
	return data;
}

static void *serve(void *data)
{
	thrum_lane_name(data);
	for (int i = 0; i < 12; i++) {
		usleep(20000);
		catalog_lock(false);
		usleep(1000);
		catalog_unlock();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t attr;
	pthread_t threads[4];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&catalog, &attr);
	catalog_task = thrum_task_create(THRUM_KIND_LOCK, "catalog");
	pthread_create(&threads[0], NULL, solve, NULL);
	pthread_create(&threads[1], NULL, refresh, NULL);
	pthread_create(&threads[2], NULL, serve, "http 1");
	pthread_create(&threads[3], NULL, serve, "http 2");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
