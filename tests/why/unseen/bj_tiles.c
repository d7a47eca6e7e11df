/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: tile_load returns on a missing tile file without settling the tile, which stays in the state LOADING
 *     although nobody loads it any more; every later request for the same tile waits for the condition
 *     tile_ready forever.
 *   culprit: tile_load|tile_ready|tile_get
 *   victim: main\b|pthread_join
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A map server: renderers share a cache in which each tile is loaded once, by the first who asks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RENDERERS 3
#define TILES 12
#define REQUESTS 48

enum tile_state {
	TILE_EMPTY,
	TILE_LOADING,
	TILE_READY,
	TILE_MISSING
};

struct tile {
	int number;
	enum tile_state state;
	char pixels[64];
};

struct renderer {
	pthread_t thread;
	int number;
	int drawn;
	int blank;
};

static struct tile tiles[TILES];
static pthread_mutex_t tiles_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tile_ready = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_request;

static pthread_mutex_t janitor_lock = PTHREAD_MUTEX_INITIALIZER;
static bool janitor_stops;

static bool settle_missing;

/* Tile 7 lies in the sea: the disk has no file for it. */
static bool tile_read_file(struct tile *tile)
{
	usleep(4000);
	if (tile->number == 7)
		return false;
	snprintf(tile->pixels, sizeof tile->pixels, "tile %d", tile->number);
	return true;
}

static void tile_settle(struct tile *tile, enum tile_state state)
{
	pthread_mutex_lock(&tiles_lock);
	tile->state = state;
	pthread_cond_broadcast(&tile_ready);
	pthread_mutex_unlock(&tiles_lock);
}

/* The tile is in the state LOADING, and the caller is its loader. */
static bool tile_load(struct tile *tile)
{
	if (!tile_read_file(tile)) {
		if (settle_missing)
			tile_settle(tile, TILE_MISSING);
		return false;
	}
	tile_settle(tile, TILE_READY);
	return true;
}

/* Returns whether the tile has pixels. */
static bool tile_get(int number)
{
	struct tile *tile = &tiles[number];
	bool ready;

	pthread_mutex_lock(&tiles_lock);
	if (tile->state == TILE_EMPTY) {
		tile->state = TILE_LOADING;
		pthread_mutex_unlock(&tiles_lock);
		return tile_load(tile);
	}
	while (tile->state == TILE_LOADING)
		pthread_cond_wait(&tile_ready, &tiles_lock);
	ready = tile->state == TILE_READY;
	pthread_mutex_unlock(&tiles_lock);
	return ready;
}

/* Returns the tile of the next request, or -1 when all are served. */
static int request_take(void)
{
	int number = -1;

	pthread_mutex_lock(&requests_lock);
	if (next_request < REQUESTS)
		number = (next_request++ * 5) % TILES;
	pthread_mutex_unlock(&requests_lock);
	return number;
}

static void draw(struct renderer *self, bool has_pixels)
{
	if (has_pixels)
		self->drawn++;
	else
		self->blank++;
	usleep(1000);
}

static void *render(void *data)
{
	struct renderer *self = data;
	char name[16];
	int number;

	snprintf(name, sizeof name, "render-%d", self->number);
	pthread_setname_np(pthread_self(), name);
	while ((number = request_take()) >= 0)
		draw(self, tile_get(number));
	return NULL;
}

/* Throws old statistics away now and then. */
static void *janitor(void *data)
{
	bool stops;

	(void)data;
	pthread_setname_np(pthread_self(), "janitor");
	do {
		usleep(20000);
		pthread_mutex_lock(&janitor_lock);
		stops = janitor_stops;
		pthread_mutex_unlock(&janitor_lock);
	} while (!stops);
	return NULL;
}

int main(int argc, char **argv)
{
	struct renderer renderers[RENDERERS] = {0};
	pthread_t cleaner;
	int drawn = 0, blank = 0;

	settle_missing = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < TILES; i++)
		tiles[i].number = i;
	pthread_create(&cleaner, NULL, janitor, NULL);
	for (int i = 0; i < RENDERERS; i++) {
		renderers[i].number = i;
		pthread_create(&renderers[i].thread, NULL, render, &renderers[i]);
	}
	for (int i = 0; i < RENDERERS; i++) {
		pthread_join(renderers[i].thread, NULL);
		drawn += renderers[i].drawn;
		blank += renderers[i].blank;
	}
	pthread_mutex_lock(&janitor_lock);
	janitor_stops = true;
	pthread_mutex_unlock(&janitor_lock);
	pthread_join(cleaner, NULL);
	printf("%d drawn, %d blank\n", drawn, blank);
	return 0;
}
