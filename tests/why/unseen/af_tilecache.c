/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: draw_overlay pins a tile with cache_get and returns early for an empty tile without cache_put. So
 *     its slots stay pinned for ever, and the panning threads wait for a slot that nobody gives back.
 *   culprit: draw_overlay
 *   victim: pan_map|claim_slot|slot_unpinned
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A map viewer's tile cache: a few slots with reference counts, which panning and overlay threads share. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 6
#define PANNERS 3
#define TILE_BYTES 4096

struct tile {
	int key; /* -1: unused */
	int pins;
	uint64_t used;
	bool loading;
	unsigned char pixels[TILE_BYTES];
};

static struct tile slots[SLOTS];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slot_unpinned = PTHREAD_COND_INITIALIZER;
static pthread_cond_t tile_loaded = PTHREAD_COND_INITIALIZER;
static uint64_t clock_hand;
static unsigned long drawn;
static bool careful;

/* The caller holds cache_lock. Returns the slot that was used least recently and isn't pinned. */
static struct tile *claim_slot(void)
{
	for (;;) {
		struct tile *oldest = NULL;

		for (int i = 0; i < SLOTS; i++)
			if (slots[i].pins == 0 && (!oldest || slots[i].used < oldest->used))
				oldest = &slots[i];
		if (oldest)
			return oldest;
		pthread_cond_wait(&slot_unpinned, &cache_lock);
	}
}

static struct tile *find_tile(int key)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].key == key)
			return &slots[i];
	return NULL;
}

static struct tile *cache_get(int key)
{
	struct tile *tile;

	pthread_mutex_lock(&cache_lock);
	tile = find_tile(key);
	if (!tile) {
		tile = claim_slot();
		tile->key = key;
		tile->loading = true;
		tile->pins = 1;
		pthread_mutex_unlock(&cache_lock);
		usleep(300);
		/* Sea tiles are empty. */
		memset(tile->pixels, key % 7 == 3 ? 0 : key & 0xff, TILE_BYTES);
		pthread_mutex_lock(&cache_lock);
		tile->loading = false;
		pthread_cond_broadcast(&tile_loaded);
	} else {
		tile->pins++;
		while (tile->loading)
			pthread_cond_wait(&tile_loaded, &cache_lock);
	}
	tile->used = ++clock_hand;
	pthread_mutex_unlock(&cache_lock);
	return tile;
}

static void cache_put(struct tile *tile)
{
	pthread_mutex_lock(&cache_lock);
	if (--tile->pins == 0)
		pthread_cond_signal(&slot_unpinned);
	pthread_mutex_unlock(&cache_lock);
}

static unsigned long blend(const struct tile *tile)
{
	unsigned long sum = 0;

	for (int i = 0; i < TILE_BYTES; i++)
		sum += tile->pixels[i];
	return sum;
}

static void draw_overlay(int key)
{
	struct tile *tile = cache_get(key);

	if (blend(tile) == 0) {
		/* Nothing to draw over the sea. */
		if (careful)
			cache_put(tile);
		return;
	}
	__atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED);
	cache_put(tile);
}

static void *show_overlay(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "overlay");
	for (int frame = 0; frame < 120; frame++) {
		draw_overlay(1000 + frame);
		usleep(200);
	}
	return NULL;
}

static void *pan_map(void *start)
{
	int key = (int)(intptr_t)start;

	pthread_setname_np(pthread_self(), "pan");
	for (int frame = 0; frame < 400; frame++) {
		struct tile *tile = cache_get(key + frame % 40);

		__atomic_add_fetch(&drawn, blend(tile) > 0, __ATOMIC_RELAXED);
		usleep(100);
		cache_put(tile);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t overlay, panners[PANNERS];

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < SLOTS; i++)
		slots[i].key = -1;
	pthread_create(&overlay, NULL, show_overlay, NULL);
	for (int i = 0; i < PANNERS; i++)
		pthread_create(&panners[i], NULL, pan_map, (void *)(intptr_t)(i * 100));
	for (int i = 0; i < PANNERS; i++)
		pthread_join(panners[i], NULL);
	pthread_join(overlay, NULL);
	printf("drew %lu tiles\n", drawn);
	return 0;
}
