/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The prefetch thread marks tile 17 as loading, and its fetch fails. On that error path it neither
 *     takes the mark away nor signals tile_ready, so the http threads wait for this tile for ever.
 *   culprit: prefetch
 *   victim: http-[0-9]|tile_ready
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

#define TILES 24
#define BAD_TILE 17

enum tile_state {
	TILE_EMPTY,
	TILE_LOADING,
	TILE_READY
};

struct tile {
	enum tile_state state;
	int attempts;
	char pixels[64];
};

static struct tile tiles[TILES];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tile_ready = PTHREAD_COND_INITIALIZER;
static bool broken;
static unsigned served, failed;

/* The origin answers 502 to the first request for one tile. */
static int fetch_from_origin(int number, int attempt, char *pixels)
{
	usleep(2000);
	if (number == BAD_TILE && attempt == 1) {
		usleep(25000);
		return -1;
	}
	memset(pixels, 'a' + number, 63);
	return 0;
}

/* The caller has marked the tile as loading. */
static int load_tile(int number)
{
	struct tile *tile = &tiles[number];
	char pixels[64] = "";
	int result;

	result = fetch_from_origin(number, ++tile->attempts, pixels);
	if (result) {
		if (!broken) {
			pthread_mutex_lock(&cache_lock);
			tile->state = TILE_EMPTY;
			pthread_cond_broadcast(&tile_ready);
			pthread_mutex_unlock(&cache_lock);
		}
		return result;
	}
	pthread_mutex_lock(&cache_lock);
	memcpy(tile->pixels, pixels, sizeof(pixels));
	tile->state = TILE_READY;
	pthread_cond_broadcast(&tile_ready);
	pthread_mutex_unlock(&cache_lock);
	return 0;
}

static int get_tile(int number)
{
	struct tile *tile = &tiles[number];

	pthread_mutex_lock(&cache_lock);
	while (tile->state == TILE_LOADING)
		pthread_cond_wait(&tile_ready, &cache_lock);
	if (tile->state == TILE_READY) {
		served++;
		pthread_mutex_unlock(&cache_lock);
		return 0;
	}
	tile->state = TILE_LOADING;
	pthread_mutex_unlock(&cache_lock);
	return load_tile(number);
}

/* Loads the tiles around the viewport before anybody asks for them. */
static void *run_prefetch(void *unused)
{
	static const int around[] = {22, 23, BAD_TILE, 20, 21};

	pthread_setname_np(pthread_self(), "prefetch");
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		struct tile *tile = &tiles[around[i]];

		pthread_mutex_lock(&cache_lock);
		if (tile->state != TILE_EMPTY) {
			pthread_mutex_unlock(&cache_lock);
			continue;
		}
		tile->state = TILE_LOADING;
		pthread_mutex_unlock(&cache_lock);
		if (load_tile(around[i])) {
			pthread_mutex_lock(&cache_lock);
			failed++;
			pthread_mutex_unlock(&cache_lock);
		}
	}
	return unused;
}

static void *run_http(void *argument)
{
	int worker = (int)(long)argument;
	char name[16];

	snprintf(name, sizeof(name), "http-%d", worker);
	pthread_setname_np(pthread_self(), name);
	for (int round = 0; round < 3; round++) {
		for (int number = 0; number < TILES; number++) {
			while (get_tile(number))
				usleep(1000);
			usleep(500);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t prefetch, http[3];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&prefetch, NULL, run_prefetch, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&http[i], NULL, run_http, (void *)(i + 1));
	pthread_join(prefetch, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(http[i], NULL);
	printf("served %u tiles from the cache, %u fetches failed\n", served, failed);
	return 0;
}
