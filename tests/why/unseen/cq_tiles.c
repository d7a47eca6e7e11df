/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=tile/#
 *   truth: The thread "janitor" trims the cache each 300 ms: it writes the oldest tiles to the disk,
 *     which takes 120 ms, and holds the lock "cache" meanwhile. A request for a tile that comes then has
 *     to wait for this lock for up to 120 ms, though it needs 4 ms by itself. The fix takes the tiles out
 *     under the lock and writes them after it is released.
 *   culprit: trim|janitor|spill
 *   victim: render|worker|queue
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A server of map tiles: three workers serve requests from a queue, a janitor keeps the cache small. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WORKERS = 3,
	REQUESTS = 200,
	CACHE = 64,
	SPILL = 24 /* tiles that the janitor takes out at a time */
};

static struct {
	pthread_mutex_t lock;
	thrum_task task;
	int tiles[CACHE];
	int count;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct {
		int number;
		thrum_task task;
	} requests[REQUESTS];
	int first, end;
	bool closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static bool broken;
static volatile bool is_night;

THRUM_TAG(disk, NULL, "write to the disk", 0);
THRUM_TAG(database, NULL, "ask the database", 0);

static void cache_lock(void)
{
	if (pthread_mutex_trylock(&cache.lock)) {
		thrum_task_wait(thrum_task_current(), cache.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&cache.lock);
		thrum_resume();
	}
	thrum_lock_acquired(cache.task);
}

static void cache_unlock(void)
{
	thrum_lock_released(cache.task);
	pthread_mutex_unlock(&cache.lock);
}

static void store_tile(int number)
{
	cache_lock();
	cache.tiles[cache.count % CACHE] = number;
	cache.count++;
	cache_unlock();
}

static void spill_tiles(int count)
{
	thrum_suspend(&disk);
	usleep(5000 * (unsigned)count);
	thrum_resume();
}

static void trim_cache(void)
{
	int count;

	cache_lock();
	count = cache.count < SPILL ? cache.count : SPILL;
	cache.count -= count;
	if (broken) {
		spill_tiles(count);
		cache_unlock();
	} else {
		cache_unlock();
		spill_tiles(count);
	}
}

static void *run_janitor(void *data)
{
	(void)data;
	thrum_lane_name("janitor");
	while (!is_night) {
		thrum_task trim;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(300000);
		thrum_resume();
		trim = thrum_task_create(THRUM_KIND_TASK, "trim cache");
		THRUM_RUN (trim) {
			trim_cache();
			thrum_task_resolve(trim);
		}
	}
	return NULL;
}

static void render_tile(int number)
{
	thrum_suspend(&database);
	usleep(3000 + (unsigned)(number % 5) * 500);
	thrum_resume();
}

static void *run_worker(void *data)
{
	(void)data;
	thrum_lane_name("worker");
	pthread_mutex_lock(&queue.lock);
	for (;;) {
		thrum_task task;
		int number;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (queue.first == queue.end && !queue.closed)
			pthread_cond_wait(&queue.filled, &queue.lock);
		thrum_resume();
		if (queue.first == queue.end)
			break;
		number = queue.requests[queue.first].number;
		task = queue.requests[queue.first++].task;
		pthread_mutex_unlock(&queue.lock);
		THRUM_RUN (task) {
			render_tile(number);
			store_tile(number);
			thrum_task_resolve(task);
		}
		pthread_mutex_lock(&queue.lock);
	}
	pthread_mutex_unlock(&queue.lock);
	return NULL;
}

static void ask_for_tile(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "tile/%d", number);

	thrum_task_should_resolve(task);
	pthread_mutex_lock(&queue.lock);
	queue.requests[queue.end].number = number;
	queue.requests[queue.end++].task = task;
	thrum_task_ready(task);
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
	return thread;
}

static void join(pthread_t thread)
{
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(thread, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], janitor;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("map");
	cache.task = thrum_task_create(THRUM_KIND_LOCK, "cache");
	for (int i = 0; i < WORKERS; i++)
		workers[i] = start(run_worker);
	janitor = start(run_janitor);
	for (int i = 1; i <= REQUESTS; i++) {
		ask_for_tile(i);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(8000); /* until the next request comes */
		thrum_resume();
	}
	pthread_mutex_lock(&queue.lock);
	queue.closed = true;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
	for (int i = 0; i < WORKERS; i++)
		join(workers[i]);
	is_night = true;
	join(janitor);
	thrum_stop();
	printf("%d tiles\n", queue.end);
	return 0;
}
