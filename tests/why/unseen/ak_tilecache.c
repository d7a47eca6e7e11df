/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: render_overlay takes a codec session (semaphore codec_slots) and, when the overlay's style can't be
 *     parsed, returns without giving it back. After two such tiles no session is left, and all renderers wait in
 *     render_base.
 *   culprit: render_overlay
 *   victim: render_base|tile-writer|write_tiles
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* tilecache renders the map tiles of a region ahead of time: renderers share a few codec sessions, a writer stores. */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RENDERERS 3
#define SESSIONS 2
#define TILE_SIZE 256

enum layer {
	BASE,
	OVERLAY
};

struct tile {
	enum layer layer;
	const char *style;
	int zoom, x, y;
	unsigned char pixels[TILE_SIZE];
	int status;
	struct tile *next_done;
};

static const char *broken_styles[] = {
	"base:3",
	"overlay:3",
	"base:3",
	"base:3",
	"base:3",
	"overlay",
	"base:3",
	"base:3",
	"overlay",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
};
static const char *healthy_styles[] = {
	"base:3",
	"overlay:3",
	"base:3",
	"base:3",
	"base:3",
	"overlay:2",
	"base:3",
	"base:3",
	"overlay:2",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
	"base:3",
};

#define TILES (sizeof broken_styles / sizeof broken_styles[0])

static struct tile tiles[TILES];
static unsigned next_tile;
static pthread_mutex_t tiles_lock = PTHREAD_MUTEX_INITIALIZER;

sem_t codec_slots;

static struct tile *done_list;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int style_version(const char *style)
{
	const char *colon = strchr(style, ':');

	return colon ? atoi(colon + 1) : -1;
}

__attribute__((noinline)) void encode(struct tile *tile, unsigned char shade)
{
	for (int i = 0; i < TILE_SIZE; i++)
		tile->pixels[i] = (unsigned char)(shade ^ (tile->x * 7 + tile->y * 13 + i));
	pause_ms(20); /* the codec's hardware works */
}

__attribute__((noinline)) int render_base(struct tile *tile)
{
	while (sem_wait(&codec_slots) < 0 && errno == EINTR)
		;
	encode(tile, 0x20);
	sem_post(&codec_slots);
	return 0;
}

__attribute__((noinline)) int render_overlay(struct tile *tile)
{
	int version;

	while (sem_wait(&codec_slots) < 0 && errno == EINTR)
		;
	version = style_version(tile->style);
	if (version < 1) {
		fprintf(stderr, "tilecache: %d/%d/%d: style “%s” has no version\n", tile->zoom,
			tile->x, tile->y, tile->style);
		return -EINVAL;
	}
	encode(tile, (unsigned char)(0x80 + version));
	sem_post(&codec_slots);
	return 0;
}

__attribute__((noinline)) void fetch_source(struct tile *tile)
{
	pause_ms(15); /* the raw data come from the tape library */
	tile->pixels[0] = (unsigned char)tile->zoom;
}

static struct tile *claim_tile(void)
{
	struct tile *tile = NULL;

	pthread_mutex_lock(&tiles_lock);
	if (next_tile < TILES)
		tile = &tiles[next_tile++];
	pthread_mutex_unlock(&tiles_lock);
	return tile;
}

__attribute__((noinline)) void hand_over(struct tile *tile)
{
	pthread_mutex_lock(&done_lock);
	tile->next_done = done_list;
	done_list = tile;
	pthread_cond_signal(&done_cond);
	pthread_mutex_unlock(&done_lock);
}

static void *render_tiles(void *data)
{
	struct tile *tile;
	char name[16];

	snprintf(name, sizeof name, "renderer-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	while ((tile = claim_tile())) {
		fetch_source(tile);
		tile->status = tile->layer == OVERLAY ? render_overlay(tile) : render_base(tile);
		hand_over(tile);
	}
	return NULL;
}

static void *write_tiles(void *data)
{
	unsigned written = 0, failed = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "tile-writer");
	while (written + failed < TILES) {
		struct tile *batch;

		pthread_mutex_lock(&done_lock);
		while (!done_list)
			pthread_cond_wait(&done_cond, &done_lock);
		batch = done_list;
		done_list = NULL;
		pthread_mutex_unlock(&done_lock);
		for (; batch; batch = batch->next_done) {
			if (batch->status)
				failed++;
			else
				written++;
		}
		pause_ms(2);
	}
	printf("%u tiles written, %u failed\n", written, failed);
	return NULL;
}

static void plan_region(const char **styles)
{
	for (unsigned i = 0; i < TILES; i++) {
		tiles[i].style = styles[i];
		tiles[i].layer = strncmp(styles[i], "overlay", 7) ? BASE : OVERLAY;
		tiles[i].zoom = 11;
		tiles[i].x = 1070 + (int)i % 4;
		tiles[i].y = 680 + (int)i / 4;
	}
}

int main(int argc, char **argv)
{
	pthread_t renderers[RENDERERS], writer;
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	plan_region(broken ? broken_styles : healthy_styles);
	sem_init(&codec_slots, 0, SESSIONS);
	pthread_create(&writer, NULL, write_tiles, NULL);
	for (long i = 0; i < RENDERERS; i++)
		pthread_create(&renderers[i], NULL, render_tiles, (void *)i);
	for (int i = 0; i < RENDERERS; i++)
		pthread_join(renderers[i], NULL);
	pthread_join(writer, NULL);
	sem_destroy(&codec_slots);
	return 0;
}
