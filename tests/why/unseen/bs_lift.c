/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: call_lift wakes only one of the three car threads, which share the condition hall. If that is not the car
 *     to which the call was given, that one goes back to sleep, the right car is never woken, and the guests wait.
 *   culprit: call_lift|\bhall\b
 *   victim: guest|thread rider
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* The group control of three lifts: it gives each call to the nearest car. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CARS 3
#define FLOORS 12

struct car {
	int number, floor;
	int target; /* -1: idle */
	long trips;
	pthread_t thread;
};

static bool broken;
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hall = PTHREAD_COND_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static struct car cars[CARS];

static void *car_run(void *data)
{
	struct car *car = data;
	char name[16];

	snprintf(name, sizeof(name), "car %d", car->number);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&control);
	for (;;) {
		while (car->target < 0)
			pthread_cond_wait(&hall, &control);
		while (car->floor != car->target) {
			pthread_mutex_unlock(&control);
			usleep(800);
			pthread_mutex_lock(&control);
			car->floor += car->target > car->floor ? 1 : -1;
		}
		car->target = -1;
		car->trips++;
		pthread_cond_broadcast(&arrived);
	}
	return NULL;
}

/* The nearest idle car, or NULL. The caller holds control. */
static struct car *nearest(int floor)
{
	struct car *best = NULL;

	for (int i = 0; i < CARS; i++) {
		struct car *car = &cars[i];

		if (car->target >= 0)
			continue;
		if (!best || abs(car->floor - floor) < abs(best->floor - floor))
			best = car;
	}
	return best;
}

/* Sends a car to the floor, and returns when its doors open there. */
static void call_lift(int floor)
{
	struct car *car;
	long trip;

	pthread_mutex_lock(&control);
	while (!(car = nearest(floor)))
		pthread_cond_wait(&arrived, &control);
	trip = car->trips;
	car->target = floor;
	if (broken)
		pthread_cond_signal(&hall);
	else
		pthread_cond_broadcast(&hall);
	while (car->trips == trip)
		pthread_cond_wait(&arrived, &control);
	pthread_mutex_unlock(&control);
}

static void *rider_run(void *data)
{
	unsigned seed = (unsigned)(size_t)data;

	pthread_setname_np(pthread_self(), seed == 1 ? "rider staff" : "rider guest");
	for (;;) {
		call_lift((int)(rand_r(&seed) % FLOORS));
		usleep(3000);
	}
	return NULL;
}

/* The display in the porter's lodge. */
static void *panel_run(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "panel");
	for (;;) {
		long total = 0;

		usleep(200000);
		pthread_mutex_lock(&control);
		for (int i = 0; i < CARS; i++)
			total += cars[i].trips;
		pthread_mutex_unlock(&control);
		printf("%ld trips\n", total);
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t panel, riders[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < CARS; i++) {
		cars[i] = (struct car){.number = i + 1, .floor = i * 4, .target = -1};
		pthread_create(&cars[i].thread, NULL, car_run, &cars[i]);
	}
	usleep(20000);
	pthread_create(&panel, NULL, panel_run, NULL);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&riders[i], NULL, rider_run, (void *)(i + 1));
	pthread_join(panel, NULL);
	return 0;
}
