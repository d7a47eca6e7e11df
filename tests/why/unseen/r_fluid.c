/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The thread diffuse converges in step 5 and returns from its loop, though the barrier step_done still
 *     counts three parties; advect and project wait at the barrier for ever, and main, which
 *     joins them, and progress_meter hang behind them.
 *   culprit: \bdiffuse\b
 *   victim: \badvect\b|\bproject\b|\bprogress_meter\b|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A tiny stable-fluids solver: three stages in lockstep, a thread each. */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEPS 14
#define CELLS 256

static double density[CELLS], velocity[CELLS], pressure[CELLS];
static pthread_barrier_t step_done;
static pthread_mutex_t progress_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_changed = PTHREAD_COND_INITIALIZER;
static int progress;
static bool finished, leave_early;

static void *advect(void *unused)
{
	for (int step = 0; step < STEPS; step++) {
		for (int i = 1; i < CELLS; i++)
			density[i] = 0.9 * density[i] + 0.1 * density[i - 1];
		usleep(7000);
		pthread_barrier_wait(&step_done);
		pthread_mutex_lock(&progress_mutex);
		progress = step + 1;
		pthread_cond_signal(&progress_changed);
		pthread_mutex_unlock(&progress_mutex);
	}
	return unused;
}

static void *diffuse(void *unused)
{
	double residual = 1;

	for (int step = 0; step < STEPS; step++) {
		if (residual < 0.05) {
			if (leave_early)
				return unused; /* nothing left to do */
		} else {
			for (int i = 1; i + 1 < CELLS; i++)
				velocity[i] = (velocity[i - 1] + velocity[i + 1]) / 2;
			residual *= 0.5;
			usleep(5000);
		}
		pthread_barrier_wait(&step_done);
	}
	return unused;
}

static void *project(void *unused)
{
	for (int step = 0; step < STEPS; step++) {
		for (int i = 1; i < CELLS; i++)
			pressure[i] = sqrt(density[i] * density[i] + velocity[i] * velocity[i]);
		usleep(9000);
		pthread_barrier_wait(&step_done);
	}
	return unused;
}

static void *progress_meter(void *unused)
{
	pthread_mutex_lock(&progress_mutex);
	while (!finished)
		pthread_cond_wait(&progress_changed, &progress_mutex);
	printf("%d steps\n", progress);
	pthread_mutex_unlock(&progress_mutex);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t stages[3], meter;

	leave_early = argc > 1 && !strcmp(argv[1], "broken");
	density[0] = velocity[0] = 1;
	pthread_barrier_init(&step_done, NULL, 3);
	pthread_create(&meter, NULL, progress_meter, NULL);
	pthread_create(&stages[0], NULL, advect, NULL);
	pthread_create(&stages[1], NULL, diffuse, NULL);
	pthread_create(&stages[2], NULL, project, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(stages[i], NULL);
	pthread_mutex_lock(&progress_mutex);
	finished = true;
	pthread_cond_signal(&progress_changed);
	pthread_mutex_unlock(&progress_mutex);
	pthread_join(meter, NULL);
	return 0;
}
