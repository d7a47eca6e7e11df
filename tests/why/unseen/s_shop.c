/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=checkout
 *   truth: the slowest checkout takes some 200 ms instead of 5 ms because "nightly export" holds the lock "catalog" that
 *     long.
 *   culprit: nightly export|export_catalog
 *   victim: checkout|catalog
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

/* A shop: two threads serve checkouts, one exports the catalog. */
static pthread_mutex_t catalog = PTHREAD_MUTEX_INITIALIZER;
static thrum_task catalog_task;
static bool in_parts;
static int served;

static void catalog_lock(void)
{
	if (pthread_mutex_trylock(&catalog)) {
		thrum_task_wait(thrum_task_current(), catalog_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&catalog);
		thrum_resume();
	}
	thrum_lock_acquired(catalog_task);
}

static void catalog_unlock(void)
{
	thrum_lock_released(catalog_task);
	pthread_mutex_unlock(&catalog);
}

static void *till(void *data)
{
	thrum_lane_name(data);
	for (int i = 0; i < 30; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "checkout");

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			usleep(2000);
			catalog_lock();
			usleep(1000);
			catalog_unlock();
			usleep(1000);
			thrum_task_resolve(task);
		}
		__atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
		usleep(4000);
	}
	return NULL;
}

static void *export_catalog(void *data)
{
	thrum_task task;

	thrum_lane_name("exporter");
	usleep(80000);
	task = thrum_task_create(THRUM_KIND_TASK, "nightly export");
	THRUM_RUN (task) {
		if (!in_parts)
			catalog_lock();
		for (int part = 0; part < 100; part++) {
			if (in_parts)
				catalog_lock();
			usleep(1900);
			if (in_parts) {
				catalog_unlock();
				usleep(1500);
			}
		}
		if (!in_parts)
			catalog_unlock();
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	in_parts = argc > 1 && !strcmp(argv[1], "healthy");
	catalog_task = thrum_task_create(THRUM_KIND_LOCK, "catalog");
	pthread_create(&threads[0], NULL, till, "till 1");
	pthread_create(&threads[1], NULL, till, "till 2");
	pthread_create(&threads[2], NULL, export_catalog, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	printf("shop: %d\n", served);
	return 0;
}
