/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: If the file is bad, load_zone removes its entry and returns without waking those who wait for it.
 *   culprit: load_zone
 *   victim: answer_queries|find_zone
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name server loads a zone once, however many threads ask for it. The others wait for the first. */

enum {
	THREADS = 4,
	ZONES = 24,
	MISSING = 9
};

enum state {
	LOADING,
	LOADED,
	FAILED
};

struct zone {
	int number;
	enum state state;
	int references;
	pthread_cond_t settled;
	long serial;
	struct zone *next;
};

static pthread_mutex_t zones_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct zone *zones;
static sem_t disk_slots;
static bool broken;
static long answers, failures;

static void release_zone(struct zone *zone)
{
	if (--zone->references > 0)
		return;
	pthread_cond_destroy(&zone->settled);
	free(zone);
}

static void remove_zone(struct zone *zone)
{
	struct zone **link = &zones;

	while (*link != zone)
		link = &(*link)->next;
	*link = zone->next;
	release_zone(zone);
}

static long read_zone_file(int number)
{
	sem_wait(&disk_slots);
	usleep(3000);
	sem_post(&disk_slots);
	return number == MISSING ? -1 : 2026000 + number;
}

/* The caller holds the mutex, and a reference. */
static bool load_zone(struct zone *zone)
{
	long serial;

	pthread_mutex_unlock(&zones_mutex);
	serial = read_zone_file(zone->number);
	pthread_mutex_lock(&zones_mutex);
	if (serial < 0) {
		remove_zone(zone);
		if (broken)
			return false;
		zone->state = FAILED;
		pthread_cond_broadcast(&zone->settled);
		return false;
	}
	zone->serial = serial;
	zone->state = LOADED;
	pthread_cond_broadcast(&zone->settled);
	return true;
}

static struct zone *add_zone(int number)
{
	struct zone *zone = calloc(1, sizeof(*zone));

	zone->number = number;
	zone->references = 1; /* that of the list */
	pthread_cond_init(&zone->settled, NULL);
	zone->next = zones;
	zones = zone;
	return zone;
}

/* Returns the serial of a zone, or -1. */
static long find_zone(int number)
{
	struct zone *zone;
	long serial = -1;

	pthread_mutex_lock(&zones_mutex);
	for (zone = zones; zone && zone->number != number; zone = zone->next)
		continue;
	if (!zone) {
		zone = add_zone(number);
		zone->references++;
		if (load_zone(zone))
			serial = zone->serial;
	} else {
		zone->references++;
		while (zone->state == LOADING)
			pthread_cond_wait(&zone->settled, &zones_mutex);
		if (zone->state == LOADED)
			serial = zone->serial;
	}
	release_zone(zone);
	pthread_mutex_unlock(&zones_mutex);
	return serial;
}

static void *answer_queries(void *data)
{
	for (int i = 0; i < ZONES * 4; i++) {
		long serial = find_zone(i % ZONES);

		__atomic_add_fetch(serial < 0 ? &failures : &answers, 1, __ATOMIC_RELAXED);
		if (i >= ZONES)
			usleep(700);
	}
	return data;
}

static void *reload_oldest(void *data)
{
	volatile bool *stop = data;

	while (!*stop) {
		usleep(15000);
		pthread_mutex_lock(&zones_mutex);
		if (zones && zones->state == LOADED)
			remove_zone(zones);
		pthread_mutex_unlock(&zones_mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], janitor;
	static volatile bool stop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&disk_slots, 0, 2);
	pthread_create(&janitor, NULL, reload_oldest, (void *)&stop);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, answer_queries, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	stop = true;
	pthread_join(janitor, NULL);
	printf("%ld answers, %ld failures\n", answers, failures);
	return 0;
}
