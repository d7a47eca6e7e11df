/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="GET /tile"
 *   truth: "rebuild europe" fetches the new index from the store while it holds the write lock of the cache for 350 ms; all readers that come meanwhile wait for it. The short writers "evict" are harmless.
 *   culprit: rebuild
 *   victim: GET /tile
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* geocache: map tiles behind a readers-writer lock. Four front threads serve, one maintains the index. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	FRONTS = 4,
	REQUESTS = 25
};

static struct {
	pthread_rwlock_t lock;
	thrum_task task;
	int version;
} cache = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static bool fetch_inside;

static void cache_lock(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&cache.lock)
		     : pthread_rwlock_tryrdlock(&cache.lock)) {
		thrum_task_wait(thrum_task_current(), cache.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&cache.lock);
		else
			pthread_rwlock_rdlock(&cache.lock);
		thrum_resume();
	}
	thrum_lock_acquired(cache.task);
}

static void cache_unlock(void)
{
	thrum_lock_released(cache.task);
	pthread_rwlock_unlock(&cache.lock);
}

static void *front_thread(void *data)
{
	char name[16];

	snprintf(name, sizeof name, "front %d", (int)(long)data);
	thrum_lane_name(name);
	for (int i = 0; i < REQUESTS; i++) {
		thrum_task get = thrum_task_create(THRUM_KIND_REQUEST, "GET /tile");

		thrum_task_should_resolve(get);
		THRUM_RUN (get) {
			cache_lock(false);
			usleep(1500);
			cache_unlock();
			thrum_task_resolve(get);
		}
		usleep(9000 + 1000 * (unsigned)(long)data);
	}
	return NULL;
}

static void fetch_index(void)
{
	usleep(350000); /* the store is on spinning disks */
}

static void *maintenance_thread(void *unused)
{
	(void)unused;
	thrum_lane_name("maintenance");
	for (int i = 0; i < 8; i++) {
		thrum_task evict = thrum_task_create(THRUM_KIND_TASK, "evict");

		THRUM_RUN (evict) {
			cache_lock(true);
			usleep(1000);
			cache_unlock();
			thrum_task_resolve(evict);
		}
		usleep(8000);
		if (i == 5) {
			thrum_task rebuild = thrum_task_create(THRUM_KIND_TASK, "rebuild europe");

			THRUM_RUN (rebuild) {
				if (!fetch_inside)
					fetch_index();
				cache_lock(true);
				if (fetch_inside)
					fetch_index();
				cache.version++;
				cache_unlock();
				thrum_task_resolve(rebuild);
			}
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t front[FRONTS], maintenance;

	fetch_inside = argc > 1 && !strcmp(argv[1], "broken");
	cache.task = thrum_task_create(THRUM_KIND_LOCK, "tile cache");
	pthread_create(&maintenance, NULL, maintenance_thread, NULL);
	for (long i = 0; i < FRONTS; i++)
		pthread_create(&front[i], NULL, front_thread, (void *)i);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < FRONTS; i++)
		pthread_join(front[i], NULL);
	pthread_join(maintenance, NULL);
	thrum_resume();
	return 0;
}
