/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The condition "changed" measures its deadlines by CLOCK_MONOTONIC. After rain, put_off computes the
 *     next deadline by CLOCK_REALTIME, which is decades ahead of that clock. So thread sprinklers waits
 *     in run_sprinklers (pthread_cond_timedwait) for a time that never comes, and the gardener (main, wait_for_round) waits
 *     for the next round of watering.
 *   culprit: put_off|sprinklers|run_sprinklers
 *   victim: main\b|wait_for_round
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A controller of garden sprinklers: it waters the beds in rounds, and later if it has rained. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEDS 6
#define ROUNDS 14
#define PAUSE_MS 40
#define RAIN_PAUSE_MS 120

static struct garden {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for the sprinklers: rain, or the end */
	pthread_cond_t watered; /* for the gardener */
	struct timespec next;   /* when the next round begins */
	int moisture[BEDS];
	int rounds;
	bool rain;
	bool stop;
} garden;

static bool broken;

static void add_ms(struct timespec *when, long ms)
{
	when->tv_nsec += ms * 1000000;
	when->tv_sec += when->tv_nsec / 1000000000;
	when->tv_nsec %= 1000000000;
}

/* The beds are dry again after the usual pause. */
static void plan_next(void)
{
	clock_gettime(CLOCK_MONOTONIC, &garden.next);
	add_ms(&garden.next, PAUSE_MS);
}

/* It has rained: the next round can wait. */
static void put_off(void)
{
	clock_gettime(broken ? CLOCK_REALTIME : CLOCK_MONOTONIC, &garden.next);
	add_ms(&garden.next, RAIN_PAUSE_MS);
}

static void open_valve(int bed)
{
	garden.moisture[bed] += 20;
	if (garden.moisture[bed] > 100)
		garden.moisture[bed] = 100;
}

static void *run_sprinklers(void *data)
{
	(void)data;
	pthread_mutex_lock(&garden.lock);
	plan_next();
	while (!garden.stop) {
		int error = pthread_cond_timedwait(&garden.changed, &garden.lock, &garden.next);

		if (garden.rain) {
			garden.rain = false;
			put_off();
			continue;
		}
		if (error != ETIMEDOUT)
			continue;
		for (int bed = 0; bed < BEDS; bed++)
			open_valve(bed);
		garden.rounds++;
		pthread_cond_broadcast(&garden.watered);
		plan_next();
	}
	pthread_mutex_unlock(&garden.lock);
	return NULL;
}

/* The gauge measures the beds, and tells when there was rain. */
static void *run_gauge(void *data)
{
	bool stop = false;

	(void)data;
	for (int measure = 1; !stop; measure++) {
		usleep(50000);
		pthread_mutex_lock(&garden.lock);
		for (int bed = 0; bed < BEDS; bed++)
			garden.moisture[bed] -= garden.moisture[bed] / 10;
		if (measure == 6) {
			garden.rain = true;
			pthread_cond_signal(&garden.changed);
		}
		stop = garden.stop;
		pthread_mutex_unlock(&garden.lock);
	}
	return NULL;
}

static void wait_for_round(int round)
{
	pthread_mutex_lock(&garden.lock);
	while (garden.rounds < round)
		pthread_cond_wait(&garden.watered, &garden.lock);
	pthread_mutex_unlock(&garden.lock);
}

int main(int argc, char **argv)
{
	pthread_t sprinklers, gauge;
	pthread_condattr_t attributes;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_mutex_init(&garden.lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&garden.changed, &attributes);
	pthread_cond_init(&garden.watered, NULL);

	pthread_create(&sprinklers, NULL, run_sprinklers, NULL);
	pthread_setname_np(sprinklers, "sprinklers");
	pthread_create(&gauge, NULL, run_gauge, NULL);
	pthread_setname_np(gauge, "gauge");

	for (int round = 1; round <= ROUNDS; round++) {
		wait_for_round(round);
		printf("round %d: first bed has %d %%\n", round, garden.moisture[0]);
		fflush(stdout);
	}
	pthread_mutex_lock(&garden.lock);
	garden.stop = true;
	pthread_cond_signal(&garden.changed);
	pthread_mutex_unlock(&garden.lock);
	pthread_join(sprinklers, NULL);
	pthread_join(gauge, NULL);
	puts("season over");
	return 0;
}
