/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: solve_ice has melted all ice at step 6 and returns, although the barrier step_done counts three threads; solve_ocean and solve_wind wait at the barrier for ever.
 *   culprit: solve_ice
 *   victim: solve_ocean|solve_wind|step_done|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A coupled model: three solvers in lockstep. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STEPS 25

static pthread_barrier_t step_done;
static double ice = 1, ocean, wind;
static bool leave_when_melted;

static void compute(int us)
{
	struct timespec time = {0, us * 1000L};

	nanosleep(&time, NULL);
}

static void *solve_ocean(void *unused)
{
	for (int i = 0; i < STEPS; i++) {
		compute(7000);
		ocean += 0.5;
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

static void *solve_wind(void *unused)
{
	for (int i = 0; i < STEPS; i++) {
		compute(3000);
		wind += 0.25;
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

static void *solve_ice(void *unused)
{
	for (int i = 0; i < STEPS; i++) {
		if (ice > 0) {
			compute(5000);
			ice -= 0.17;
		} else if (leave_when_melted) {
			return NULL; /* nothing is left to solve */
		}
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	leave_when_melted = argc > 1 && !strcmp(argv[1], "broken");
	pthread_barrier_init(&step_done, NULL, 3);
	pthread_create(&threads[0], NULL, solve_ocean, NULL);
	pthread_create(&threads[1], NULL, solve_wind, NULL);
	pthread_create(&threads[2], NULL, solve_ice, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&step_done);
	printf("%g %g %g\n", ocean, wind, ice);
	return 0;
}
