/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: usable_cpus can't read the quota "max 100000" (no limit), takes it for none and falls back to one CPU; so only one thread render_tiles is started instead of four, and it does all tiles one after the other.
 *   culprit: render_tiles|tile-worker|usable_cpus|start_workers
 *   victim: \bmain\b|write_map
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Renders a map in a container: as many threads as the container may use CPUs, at most four. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TILES = 32,
	WORKERS_MAX = 4,
	PIXELS = 256
};

static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_tile;
static unsigned char map[TILES][PIXELS];
static bool broken;

/* Returns how many CPUs the quota allows: "max 100000" or "150000 100000". */
static int usable_cpus(const char *quota_text)
{
	long quota = 0, period = 0;
	int cpus = 0;

	if (!broken && !strncmp(quota_text, "max", 3))
		return WORKERS_MAX;
	if (sscanf(quota_text, "%ld %ld", &quota, &period) == 2 && period > 0)
		cpus = (int)((quota + period - 1) / period);
	if (cpus < 1)
		cpus = 1; /* one in any case */
	return cpus < WORKERS_MAX ? cpus : WORKERS_MAX;
}

/* Most of the time goes into the store of the features. */
static void load_features(int tile, unsigned char *features)
{
	usleep(9000);
	for (int i = 0; i < PIXELS; i++)
		features[i] = (unsigned char)(tile * i);
}

static void *render_tiles(void *unused)
{
	unsigned char features[PIXELS];
	int tile;

	(void)unused;
	pthread_setname_np(pthread_self(), "tile-worker");
	for (;;) {
		pthread_mutex_lock(&map_lock);
		tile = next_tile < TILES ? next_tile++ : -1;
		pthread_mutex_unlock(&map_lock);
		if (tile < 0)
			return NULL;
		load_features(tile, features);
		for (int i = 0; i < PIXELS; i++)
			map[tile][i] = features[PIXELS - 1 - i] ^ 0x55;
	}
}

static int start_workers(pthread_t *threads)
{
	int count = usable_cpus("max 100000");

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, render_tiles, NULL);
	return count;
}

static void *write_map(void *data)
{
	unsigned sum = 0;

	(void)data;
	for (int i = 0; i < TILES; i++)
		for (int j = 0; j < PIXELS; j++)
			sum = sum * 31 + map[i][j];
	printf("map %08x\n", sum);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS_MAX], writer;
	int count;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	count = start_workers(workers);
	for (int i = 0; i < count; i++)
		pthread_join(workers[i], NULL);
	pthread_create(&writer, NULL, write_map, NULL);
	pthread_join(writer, NULL);
	return 0;
}
