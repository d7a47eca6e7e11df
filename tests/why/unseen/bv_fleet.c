/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: store_position returns without unlocking the region's table when a fix is out of the fence. truck 4 does so
 *     in the region "north", and the other trucks there wait for the lock for ever.
 *   culprit: truck 4|store_position
 *   victim: truck [1-3]\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A fleet tracker: trucks report their positions, which are kept in one table for each region. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define TRUCKS 8
#define REPORTS 15

struct region {
	const char *name;
	int west, east;
	pthread_mutex_t mutex;
	thrum_task lock;
	int positions[TRUCKS + 1];
	unsigned stored;
};

struct truck {
	int number;
	struct region *region;
	int position;
	int step;
	thrum_task task;
	pthread_t thread;
};

static struct region north = {.name = "north",
	.west = 0,
	.east = 100,
	.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct region south = {.name = "south",
	.west = 0,
	.east = 900,
	.mutex = PTHREAD_MUTEX_INITIALIZER};
static bool broken;

static void region_lock(struct region *region)
{
	if (pthread_mutex_trylock(&region->mutex)) {
		thrum_task_wait(thrum_task_current(), region->lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&region->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(region->lock);
}

static void region_unlock(struct region *region)
{
	thrum_lock_released(region->lock);
	pthread_mutex_unlock(&region->mutex);
}

static int store_position(struct region *region, int number, int position)
{
	region_lock(region);
	if (position < region->west || position > region->east) {
		if (!broken)
			region_unlock(region);
		return -1; /* out of the fence */
	}
	region->positions[number] = position;
	region->stored++;
	region_unlock(region);
	return 0;
}

static void report(struct truck *truck)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "report of truck %d", truck->number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (store_position(truck->region, truck->number, truck->position)) {
			truck->step = -truck->step;
			thrum_task_fail(task, "out of the fence");
		} else {
			thrum_task_resolve(task);
		}
	}
	truck->position += truck->step;
}

static void *drive(void *data)
{
	struct truck *truck = data;
	char name[20];

	snprintf(name, sizeof name, "truck %d", truck->number);
	thrum_lane_name(name);
	thrum_task_become(truck->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < REPORTS; i++) {
		report(truck);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep((useconds_t)(20 + truck->number) * 1000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct truck trucks[TRUCKS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	north.lock = thrum_task_create(THRUM_KIND_LOCK, "table north");
	south.lock = thrum_task_create(THRUM_KIND_LOCK, "table south");
	for (int i = 0; i < TRUCKS; i++) {
		struct truck *truck = &trucks[i];

		truck->number = i + 1;
		truck->region = i < TRUCKS / 2 ? &north : &south;
		truck->position = 10 * i;
		truck->step = truck->number == 4 ? 12 : 2;
		truck->task = thrum_task_createf(THRUM_KIND_THREAD, "truck %d", truck->number);
		pthread_create(&truck->thread, NULL, drive, truck);
	}
	for (int i = 0; i < TRUCKS; i++) {
		thrum_task_wait(thrum_task_current(), trucks[i].task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_join(trucks[i].thread, NULL);
		thrum_resume();
		thrum_task_read(thrum_task_current(), trucks[i].task);
	}
	printf("north: %u reports, south: %u reports\n", north.stored, south.stored);
	return 0;
}
