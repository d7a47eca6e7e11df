/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The plate has 12 rows, so each of five threads gets three of them, and band-4 gets none. It returns at once instead of coming to the barrier, which needs five; the other four wait at it for ever.
 *   culprit: band-4
 *   victim: band-[0-3]|main|wait_result
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * Heat in a plate: a grid that is relaxed by several threads. Each has a band of rows, and all of
 * them meet after each step.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 256
#define ROWS 12
#define THREADS 5
#define STEPS 200

struct band {
	pthread_t thread;
	int number;
	int first, end; /* rows */
	double change;
};

static bool broken;
static double plates[2][ROWS + 2][WIDTH];
static struct band bands[THREADS];
static pthread_barrier_t step_barrier;
static int steps_done;
static bool settled;

/* Returns by how much the row changes. */
static double relax_row(const double (*from)[WIDTH], double (*to)[WIDTH], int row)
{
	double change = 0;

	for (int i = 1; i < WIDTH - 1; i++) {
		double value = (from[row - 1][i] + from[row + 1][i] + from[row][i - 1] +
				       from[row][i + 1]) /
			4;

		change += value > from[row][i] ? value - from[row][i] : from[row][i] - value;
		to[row][i] = value;
	}
	return change;
}

/* One thread looks whether the plate is settled, while the others wait. */
static void end_step(void)
{
	double change = 0;

	if (pthread_barrier_wait(&step_barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		for (int i = 0; i < THREADS; i++)
			change += bands[i].change;
		steps_done++;
		settled = change < 1e-3 || steps_done == STEPS;
	}
	pthread_barrier_wait(&step_barrier);
}

static void *relax_band(void *data)
{
	struct band *band = data;
	char name[16];

	snprintf(name, sizeof(name), "band-%d", band->number);
	pthread_setname_np(pthread_self(), name);
	if (broken && band->first >= band->end)
		return NULL; /* nothing to do */
	for (int step = 0; !settled; step++) {
		double change = 0;

		for (int row = band->first; row < band->end; row++)
			change += relax_row((const double(*)[WIDTH])plates[step % 2],
				plates[(step + 1) % 2], row);
		band->change = change;
		end_step();
	}
	return NULL;
}

static void heat_edges(void)
{
	for (int plate = 0; plate < 2; plate++)
		for (int i = 0; i < WIDTH; i++) {
			plates[plate][0][i] = 100;
			plates[plate][ROWS + 1][i] = 20;
		}
}

static void start_bands(void)
{
	int rows = (ROWS + THREADS - 1) / THREADS;

	for (int i = 0; i < THREADS; i++) {
		bands[i].number = i;
		bands[i].first = 1 + i * rows;
		bands[i].end = 1 + (i + 1) * rows;
		if (bands[i].end > ROWS + 1)
			bands[i].end = ROWS + 1;
		pthread_create(&bands[i].thread, NULL, relax_band, &bands[i]);
	}
}

static void wait_result(void)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(bands[i].thread, NULL);
}

int main(int argc, char **argv)
{
	double sum = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_barrier_init(&step_barrier, NULL, THREADS);
	heat_edges();
	start_bands();
	wait_result();
	for (int row = 1; row <= ROWS; row++)
		for (int i = 0; i < WIDTH; i++)
			sum += plates[steps_done % 2][row][i];
	printf("%d steps, %.2f degrees on average\n", steps_done, sum / (ROWS * WIDTH));
	pthread_barrier_destroy(&step_barrier);
	return 0;
}
