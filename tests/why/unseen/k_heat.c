/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 700
 *   ask: why
 *   truth: The thread tile-2 finds a bad cell, and returns in the middle of the computation without going to the barrier any more; the other three tiles wait at the barrier for ever, and main waits for them.
 *   culprit: tile-2
 *   victim: tile-[013]|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TILES 4
#define CELLS 256
#define STEPS 25

static pthread_barrier_t step_barrier;
static double cells[TILES][CELLS];
static bool poisoned;
static int repaired;

static bool relax(int tile)
{
	double *c = cells[tile];

	for (int i = 1; i < CELLS - 1; i++) {
		c[i] = (c[i - 1] + c[i] + c[i + 1]) / 3;
		if (isnan(c[i]))
			return false;
	}
	return true;
}

static void *tile_main(void *data)
{
	int tile = (int)(long)data;
	char name[16];

	snprintf(name, sizeof name, "tile-%d", tile);
	pthread_setname_np(pthread_self(), name);
	for (int step = 0; step < STEPS; step++) {
		if (step == 11 && tile == 2)
			cells[2][100] = NAN; /* a sensor failed */
		usleep(4000 + 1500 * (useconds_t)tile);
		if (!relax(tile)) {
			if (poisoned)
				return NULL;
			for (int i = 0; i < CELLS; i++)
				if (isnan(cells[tile][i]))
					cells[tile][i] = 20;
			repaired++;
		}
		pthread_barrier_wait(&step_barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t tiles[TILES];

	poisoned = argc > 1 && !strcmp(argv[1], "broken");
	pthread_barrier_init(&step_barrier, NULL, TILES);
	for (int i = 0; i < TILES; i++) {
		for (int j = 0; j < CELLS; j++)
			cells[i][j] = 20 + j % 7;
		pthread_create(&tiles[i], NULL, tile_main, (void *)(long)i);
	}
	for (int i = 0; i < TILES; i++)
		pthread_join(tiles[i], NULL);
	pthread_barrier_destroy(&step_barrier);
	printf("%d steps, %d repaired, middle %.2f\n", STEPS, repaired, cells[1][CELLS / 2]);
	return 0;
}
