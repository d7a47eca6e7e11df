/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: tile_key makes the key from coordinates that aren't wrapped around the date line, so tiles of the repeated
 *     world are other keys than those in the cache: the cache never hits, and read_tile reads the disk for all.
 *   culprit: read_tile|tile_key|get_tile
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Draws a map from tiles: threads take rows from a queue; tiles come from a cache, or else from the disk. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD 16 /* tiles around the world */
#define SLOTS 4096
#define THREADS 3
#define FRAMES 12
#define ROWS 6

struct tile {
	uint64_t key;
	bool used;
	unsigned color;
};

struct row {
	int frame, y;
};

static struct tile cache[SLOTS];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static struct row rows[FRAMES * ROWS];
static int next_row;
static pthread_mutex_t row_lock = PTHREAD_MUTEX_INITIALIZER;

static bool wrap;
static unsigned reads, drawn;

static uint64_t tile_key(int zoom, int x, int y)
{
	if (wrap)
		x = (x % WORLD + WORLD) % WORLD;
	return (uint64_t)zoom << 48 | (uint64_t)(uint16_t)x << 16 | (uint16_t)y;
}

static struct tile *slot_of(uint64_t key)
{
	unsigned slot = (unsigned)((key * 0x9e3779b97f4a7c15u) >> 52) % SLOTS;

	while (cache[slot].used && cache[slot].key != key)
		slot = (slot + 1) % SLOTS;
	return &cache[slot];
}

static unsigned read_tile(int x, int y)
{
	usleep(4000); /* a slow disk */
	__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	return (unsigned)(((x % WORLD + WORLD) % WORLD) * 31 + y);
}

static unsigned get_tile(int zoom, int x, int y)
{
	uint64_t key = tile_key(zoom, x, y);
	struct tile *tile;
	unsigned color;

	pthread_mutex_lock(&cache_lock);
	tile = slot_of(key);
	if (tile->used) {
		color = tile->color;
		pthread_mutex_unlock(&cache_lock);
		return color;
	}
	pthread_mutex_unlock(&cache_lock);
	color = read_tile(x, y);
	pthread_mutex_lock(&cache_lock);
	tile = slot_of(key);
	*tile = (struct tile){key, true, color};
	pthread_mutex_unlock(&cache_lock);
	return color;
}

static bool take_row(struct row *row)
{
	bool got;

	pthread_mutex_lock(&row_lock);
	got = next_row < FRAMES * ROWS;
	if (got)
		*row = rows[next_row++];
	pthread_mutex_unlock(&row_lock);
	return got;
}

static void *draw_rows(void *name)
{
	struct row row;
	unsigned sum = 0;

	pthread_setname_np(pthread_self(), name);
	while (take_row(&row)) {
		/* the user scrolls eastwards, once around the world in each frame */
		for (int x = 0; x < WORLD; x++)
			sum += get_tile(4, row.frame * WORLD + x, row.y);
		__atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED);
	}
	return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
	static char *names[THREADS] = {"draw-0", "draw-1", "draw-2"};
	pthread_t threads[THREADS];

	wrap = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < FRAMES * ROWS; i++)
		rows[i] = (struct row){i / ROWS, i % ROWS};
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, draw_rows, names[i]))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u rows, %u reads\n", drawn, reads);
	return 0;
}
