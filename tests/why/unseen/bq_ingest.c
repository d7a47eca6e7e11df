/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: a reading that the store refuses is put back by store_retry into the queue "to_store", which only the storing
 *     thread itself empties. When that queue is full, the thread waits for room that only it could make.
 *   culprit: store_retry|store_reading
 *   victim: receiver|calibrator|receive_readings|calibrate_readings
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Collects the readings of meters: receive, calibrate, store. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	QUEUE_SIZE = 8,
	READINGS = 120,
	METERS = 6
};

struct reading {
	int meter;
	int number;
	double value;
	int tries;
};

struct queue {
	const char *name;
	pthread_mutex_t mutex;
	pthread_cond_t not_empty;
	pthread_cond_t not_full;
	struct reading *items[QUEUE_SIZE];
	unsigned first;
	unsigned count;
};

static struct queue to_calibrate = {"to calibrate", PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL}, 0, 0};
static struct queue to_store = {"to store", PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
	PTHREAD_COND_INITIALIZER, {NULL}, 0, 0};

static bool spills;
static struct reading *spilled[READINGS];
static unsigned spilled_count;

static pthread_mutex_t totals_mutex = PTHREAD_MUTEX_INITIALIZER;
static double totals[METERS];
static int stored;
static bool finished;

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

static void queue_put(struct queue *queue, struct reading *reading)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count == QUEUE_SIZE)
		pthread_cond_wait(&queue->not_full, &queue->mutex);
	queue->items[(queue->first + queue->count++) % QUEUE_SIZE] = reading;
	pthread_cond_signal(&queue->not_empty);
	pthread_mutex_unlock(&queue->mutex);
}

static struct reading *queue_take(struct queue *queue)
{
	struct reading *reading;

	pthread_mutex_lock(&queue->mutex);
	while (queue->count == 0)
		pthread_cond_wait(&queue->not_empty, &queue->mutex);
	reading = queue->items[queue->first++ % QUEUE_SIZE];
	queue->count--;
	pthread_cond_signal(&queue->not_full);
	pthread_mutex_unlock(&queue->mutex);
	return reading;
}

static void *receive_readings(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "receiver");
	for (int i = 0; i < READINGS; i++) {
		struct reading *reading = calloc(1, sizeof(*reading));

		if (!reading)
			abort();
		reading->meter = i % METERS;
		reading->number = i;
		reading->value = 20.0 + i % 7;
		queue_put(&to_calibrate, reading);
		pause_us(i % 10 ? 200 : 2000);
	}
	return NULL;
}

static void *calibrate_readings(void *data)
{
	static const double factors[METERS] = {1.0, 0.98, 1.02, 1.0, 1.1, 0.95};

	(void)data;
	pthread_setname_np(pthread_self(), "calibrator");
	for (int i = 0; i < READINGS; i++) {
		struct reading *reading = queue_take(&to_calibrate);

		reading->value *= factors[reading->meter];
		queue_put(&to_store, reading);
	}
	return NULL;
}

/* The table of meter 4 is being rotated now and then, and refuses a write meanwhile. */
static bool table_write(const struct reading *reading)
{
	pause_us(3000);
	return !(reading->meter == 4 && reading->number >= 40 && reading->tries < 2);
}

static void store_retry(struct reading *reading)
{
	reading->tries++;
	if (spills)
		spilled[spilled_count++] = reading;
	else
		queue_put(&to_store, reading);
}

static void store_reading(struct reading *reading)
{
	if (!table_write(reading)) {
		store_retry(reading);
		return;
	}
	pthread_mutex_lock(&totals_mutex);
	totals[reading->meter] += reading->value;
	stored++;
	pthread_mutex_unlock(&totals_mutex);
	free(reading);
}

static void *store_readings(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "storer");
	while (stored < READINGS) {
		if (spilled_count)
			store_reading(spilled[--spilled_count]);
		else
			store_reading(queue_take(&to_store));
	}
	return NULL;
}

static void *report_status(void *data)
{
	bool is_last = false;

	(void)data;
	pthread_setname_np(pthread_self(), "status");
	while (!is_last) {
		pause_us(100000);
		pthread_mutex_lock(&totals_mutex);
		printf("stored %d of %d\n", stored, READINGS);
		is_last = finished;
		pthread_mutex_unlock(&totals_mutex);
		fflush(stdout);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[4];

	if (count < 2)
		return 2;
	spills = !strcmp(arguments[1], "healthy");
	pthread_create(&threads[0], NULL, receive_readings, NULL);
	pthread_create(&threads[1], NULL, calibrate_readings, NULL);
	pthread_create(&threads[2], NULL, store_readings, NULL);
	pthread_create(&threads[3], NULL, report_status, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_lock(&totals_mutex);
	finished = true;
	pthread_mutex_unlock(&totals_mutex);
	pthread_join(threads[3], NULL);
	return 0;
}
