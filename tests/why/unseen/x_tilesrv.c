/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow="GET /tile"
 *   truth: The slowest tile had to wait for the lock "atlas", which "evict atlas" held while it wrote the evicted pages to the disk.
 *   culprit: evict atlas
 *   victim: GET /tile
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: slow_diff
 *   args: slow
 *   ask: diff healthy
 *   truth: "evict atlas" takes 250 ms instead of some 2 ms, and the tiles that meet it are slower.
 *   culprit: evict atlas
 *   victim: GET /tile
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static pthread_mutex_t atlas = PTHREAD_MUTEX_INITIALIZER;
static thrum_task atlas_task;
static bool slow;

static void atlas_lock(void)
{
	if (pthread_mutex_trylock(&atlas)) {
		thrum_task_wait(thrum_task_current(), atlas_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&atlas);
		thrum_resume();
	}
	thrum_lock_acquired(atlas_task);
}

static void atlas_unlock(void)
{
	thrum_lock_released(atlas_task);
	pthread_mutex_unlock(&atlas);
}

static void disk(unsigned microseconds)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(microseconds);
	thrum_resume();
}

static void *server(void *data)
{
	int number = *(int *)data;

	thrum_lane_name(number == 0 ? "server 0" : "server 1");
	disk(10000 + number * 7000);
	for (int i = 0; i < 20; i++) {
		thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, "GET /tile");

		thrum_task_should_resolve(request);
		THRUM_RUN (request) {
			disk(1000); /* reads the tile */
			atlas_lock();
			usleep(300);
			atlas_unlock();
			thrum_task_resolve(request);
		}
		disk(14000);
	}
	return NULL;
}

static void *janitor(void *unused)
{
	thrum_lane_name("janitor");
	for (int i = 0; i < 2; i++) {
		thrum_task evict;

		disk(90000);
		evict = thrum_task_create(THRUM_KIND_TASK, "evict atlas");
		thrum_task_should_resolve(evict);
		THRUM_RUN (evict) {
			atlas_lock();
			if (slow && i == 0) {
				disk(250000); /* fsync with the lock held */
				atlas_unlock();
			} else {
				usleep(500);
				atlas_unlock();
				disk(1500);
			}
			thrum_task_resolve(evict);
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	static int numbers[] = {0, 1};
	pthread_t servers[2], cleaner;

	slow = argc > 1 && strcmp(argv[1], "slow") == 0;
	atlas_task = thrum_task_create(THRUM_KIND_LOCK, "atlas");
	for (int i = 0; i < 2; i++)
		pthread_create(&servers[i], NULL, server, &numbers[i]);
	pthread_create(&cleaner, NULL, janitor, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(servers[i], NULL);
	pthread_join(cleaner, NULL);
	return 0;
}
