/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The settings of the bad run spell "prewarm = yes" with blanks, which the parser takes for no. So
 *     the thread prewarm_tiles is never started, and each renderer loads its tiles itself and queues for
 *     store_lock.
 *   culprit: prewarm_tiles
 *   victim: store_lock|render_tiles
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A server of map tiles. Renderers take tiles from a cache; what is missing they load from the store. */

enum {
	TILES = 36,
	RENDERERS = 3,
	LOAD_US = 5000,
	DRAW_US = 1500
};

struct settings {
	bool prewarm;
	int renderers;
};

struct tile {
	bool loaded;
	unsigned char pixels[256];
};

static struct tile cache[TILES];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stats_changed = PTHREAD_COND_INITIALIZER;
static unsigned drawn, loads;
static atomic_uint light;

static const char good_file[] = "renderers=3\nprewarm=yes\n";
static const char bad_file[] = "renderers=3\nprewarm = yes\n";

static void parse_settings(const char *text, struct settings *settings)
{
	char line[64];

	while (*text) {
		size_t size = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)size, text);
		if (strcmp(line, "prewarm=yes") == 0)
			settings->prewarm = true;
		sscanf(line, "renderers=%d", &settings->renderers);
		text += size + (text[size] == '\n');
	}
}

/* The store is a single disk: one thread at a time reads from it. */
static void load_tile(int number)
{
	unsigned char pixels[256];

	pthread_mutex_lock(&store_lock);
	usleep(LOAD_US);
	memset(pixels, number * 7, sizeof(pixels));
	loads++;
	pthread_mutex_unlock(&store_lock);

	pthread_mutex_lock(&cache_lock);
	memcpy(cache[number].pixels, pixels, sizeof(pixels));
	cache[number].loaded = true;
	pthread_mutex_unlock(&cache_lock);
}

static bool is_cached(int number)
{
	bool loaded;

	pthread_mutex_lock(&cache_lock);
	loaded = cache[number].loaded;
	pthread_mutex_unlock(&cache_lock);
	return loaded;
}

/* Loads all tiles of the start page before the first visitor comes. */
static void *prewarm_tiles(void *data)
{
	(void)data;
	for (int i = 0; i < TILES; i++)
		if (!is_cached(i))
			load_tile(i);
	return NULL;
}

static void draw(int number)
{
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(cache[number].pixels); i++)
		sum += cache[number].pixels[i];
	usleep(DRAW_US);
	atomic_fetch_add(&light, sum);
	pthread_mutex_lock(&stats_lock);
	drawn++;
	pthread_cond_signal(&stats_changed);
	pthread_mutex_unlock(&stats_lock);
}

/* Each renderer draws the whole start page, and begins at another corner. */
static void *render_tiles(void *data)
{
	int first = *(int *)data * TILES / RENDERERS;

	for (int i = 0; i < TILES; i++) {
		int number = (first + i) % TILES;

		if (!is_cached(number))
			load_tile(number);
		draw(number);
	}
	return NULL;
}

static void *report_progress(void *data)
{
	unsigned total = *(unsigned *)data, next = total / 4;

	pthread_mutex_lock(&stats_lock);
	while (drawn < total) {
		pthread_cond_wait(&stats_changed, &stats_lock);
		if (drawn >= next) {
			printf("%u of %u tiles\n", drawn, total);
			next += total / 4;
		}
	}
	pthread_mutex_unlock(&stats_lock);
	return NULL;
}

int main(int count, char **arguments)
{
	struct settings settings = {false, 1};
	pthread_t warmer, reporter, renderers[RENDERERS];
	int numbers[RENDERERS];
	unsigned total;

	if (count != 2)
		return 2;
	parse_settings(strcmp(arguments[1], "bad") == 0 ? bad_file : good_file, &settings);
	if (settings.renderers < 1 || settings.renderers > RENDERERS)
		return 2;
	total = (unsigned)settings.renderers * TILES;
	pthread_create(&reporter, NULL, report_progress, &total);
	if (settings.prewarm) {
		pthread_create(&warmer, NULL, prewarm_tiles, NULL);
		pthread_join(warmer, NULL);
	}
	for (int i = 0; i < settings.renderers; i++) {
		numbers[i] = i;
		pthread_create(&renderers[i], NULL, render_tiles, &numbers[i]);
	}
	for (int i = 0; i < settings.renderers; i++)
		pthread_join(renderers[i], NULL);
	pthread_join(reporter, NULL);
	printf("start page served, %u loads, light %u\n", loads, atomic_load(&light));
	return 0;
}
