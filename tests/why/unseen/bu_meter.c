/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=reading
 *   truth: archive keeps the lock "day store" while it writes the day to the disk, which takes 150 ms. Readings that come
 *     meanwhile wait for the lock.
 *   culprit: archive|day store
 *   victim: collector
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define COLLECTORS 4
#define READINGS 60
#define STORE 1024

struct value {
	int meter;
	long watt_hours;
};

struct store {
	pthread_mutex_t mutex;
	thrum_task task;
	struct value values[STORE];
	int count;
};

struct collector {
	int number;
	pthread_t thread;
	long slowest_ms;
};

THRUM_TAG(serial_line, NULL, "ask the meter", 0);
THRUM_TAG(disk, NULL, "write to the disk", 0);

static struct store day = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool closing;
static bool healthy;
static long archived;

static void store_lock(struct store *store)
{
	if (pthread_mutex_trylock(&store->mutex)) {
		thrum_task_wait(thrum_task_current(), store->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&store->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(store->task);
}

static void store_unlock(struct store *store)
{
	thrum_lock_released(store->task);
	pthread_mutex_unlock(&store->mutex);
}

static long ask_meter(int meter, int round)
{
	thrum_suspend(&serial_line);
	usleep(4000 + 100 * meter);
	thrum_resume();
	return 1000 * meter + round;
}

static void store_add(struct store *store, int meter, long watt_hours)
{
	store_lock(store);
	if (store->count < STORE)
		store->values[store->count++] = (struct value){meter, watt_hours};
	store_unlock(store);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *collector_main(void *data)
{
	struct collector *collector = data;

	thrum_lane_name("collector");
	for (int i = 0; i < READINGS; i++) {
		thrum_task reading = thrum_task_create(THRUM_KIND_TASK, "reading");
		long begin = now_ms(), took;

		thrum_task_should_resolve(reading);
		THRUM_RUN (reading) {
			store_add(&day, collector->number, ask_meter(collector->number, i));
			thrum_task_resolve(reading);
		}
		took = now_ms() - begin;
		if (took > collector->slowest_ms)
			collector->slowest_ms = took;
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(3000);
		thrum_resume();
	}
	return NULL;
}

static void write_values(const struct value *values, int count)
{
	(void)values;
	thrum_suspend(&disk);
	usleep(150000);
	thrum_resume();
	archived += count;
}

static void archive(struct store *store)
{
	static struct value copy[STORE];
	int count;

	store_lock(store);
	if (healthy) {
		count = store->count;
		memcpy(copy, store->values, count * sizeof(copy[0]));
		store->count = 0;
		store_unlock(store);
		write_values(copy, count);
		return;
	}
	write_values(store->values, store->count);
	store->count = 0;
	store_unlock(store);
}

static void *archiver_main(void *data)
{
	(void)data;
	thrum_lane_name("archiver");
	while (!closing) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(60000);
		thrum_resume();
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "archive");
		THRUM_RUN (task) {
			archive(&day);
			thrum_task_resolve(task);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct collector collectors[COLLECTORS];
	pthread_t archiver;
	long slowest = 0;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	day.task = thrum_task_create(THRUM_KIND_LOCK, "day store");
	pthread_create(&archiver, NULL, archiver_main, NULL);
	for (int i = 0; i < COLLECTORS; i++) {
		collectors[i].number = i;
		pthread_create(&collectors[i].thread, NULL, collector_main, &collectors[i]);
	}
	thrum_suspend(THRUM_BLOCKED);
	for (int i = 0; i < COLLECTORS; i++) {
		pthread_join(collectors[i].thread, NULL);
		if (collectors[i].slowest_ms > slowest)
			slowest = collectors[i].slowest_ms;
	}
	closing = true;
	pthread_join(archiver, NULL);
	thrum_resume();
	thrum_stop();
	printf("archived %ld, slowest reading %ld ms\n", archived, slowest);
	return 0;
}
