/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: close_rack wakes only those that wait for a plate. It should have woken the plate makers, too.
 *   culprit: close_rack
 *   victim: rack_room|rack_put|make_plates
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RACK 4
#define N_MAKERS 2
#define N_PLATES 40

static pthread_mutex_t rack_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rack_room = PTHREAD_COND_INITIALIZER;
static pthread_cond_t rack_filled = PTHREAD_COND_INITIALIZER;
static int rack[RACK], rack_used, rack_first;
static bool rack_closed;
static bool thorough;
static int paper = 30;

static bool rack_put(int plate)
{
	bool put = false;
	pthread_mutex_lock(&rack_lock);
	while (rack_used == RACK && !rack_closed)
		pthread_cond_wait(&rack_room, &rack_lock);
	if (!rack_closed) {
		rack[(rack_first + rack_used++) % RACK] = plate;
		put = true;
		pthread_cond_signal(&rack_filled);
	}
	pthread_mutex_unlock(&rack_lock);
	return put;
}

static bool rack_take(int *plate)
{
	bool taken = false;
	pthread_mutex_lock(&rack_lock);
	while (rack_used == 0 && !rack_closed)
		pthread_cond_wait(&rack_filled, &rack_lock);
	if (rack_used > 0) {
		*plate = rack[rack_first];
		rack_first = (rack_first + 1) % RACK;
		rack_used--;
		taken = true;
		pthread_cond_signal(&rack_room);
	}
	pthread_mutex_unlock(&rack_lock);
	return taken;
}

static void close_rack(void)
{
	pthread_mutex_lock(&rack_lock);
	rack_closed = true;
	pthread_cond_broadcast(&rack_filled);
	if (thorough)
		pthread_cond_broadcast(&rack_room);
	pthread_mutex_unlock(&rack_lock);
}

static void *make_plates(void *arg)
{
	long made = 0;
	int first = (int)(long)arg * 1000;
	for (int i = 0; i < N_PLATES; i++) {
		usleep(300);
		if (!rack_put(first + i))
			break;
		made++;
	}
	return (void *)made;
}

static void *run_press(void *arg)
{
	long sheets = 0;
	int plate;
	(void)arg;
	while (rack_take(&plate)) {
		usleep(2500 + plate % 3 * 500);
		sheets++;
		if (sheets == paper) {
			usleep(8000); /* The tray is empty: look for paper, and find none. */
			close_rack();
			break;
		}
	}
	return (void *)sheets;
}

static void *watch_ink(void *arg)
{
	(void)arg;
	for (int i = 0; i < 25; i++) {
		usleep(4000);
		pthread_mutex_lock(&rack_lock);
		bool over = rack_closed;
		pthread_mutex_unlock(&rack_lock);
		if (over)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t makers[N_MAKERS], press, ink;
	void *result;
	long made = 0;

	thorough = argc > 1 && strcmp(argv[1], "healthy") == 0;
	pthread_create(&press, NULL, run_press, NULL);
	pthread_create(&ink, NULL, watch_ink, NULL);
	for (int i = 0; i < N_MAKERS; i++)
		pthread_create(&makers[i], NULL, make_plates, (void *)(long)(i + 1));
	for (int i = 0; i < N_MAKERS; i++) {
		pthread_join(makers[i], &result);
		made += (long)result;
	}
	pthread_join(press, &result);
	pthread_join(ink, NULL);
	printf("%ld plates made, %ld sheets printed\n", made, (long)result);
	return 0;
}
