/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread band-2 can't load a tile of frame 5 and ends. The barrier still counts four threads,
 *     so the other three wait at it for ever for a thread that is gone.
 *   culprit: band-2|render_band_of_tiles
 *   victim: band-[013]|finish_frame
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANDS 4
#define FRAMES 16
#define WIDTH 256
#define ROWS 32

struct tile {
	uint32_t magic;
	unsigned number;
};

struct band {
	unsigned number;
	uint8_t pixels[ROWS][WIDTH];
	unsigned blank;
};

static pthread_barrier_t frame_done;
static struct band bands[BANDS];
static bool tolerant; /* a tile that can't be loaded is drawn blank */
static pthread_mutex_t checksum_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t checksum;

static void nap(unsigned ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000L};

	nanosleep(&time, NULL);
}

/* The file of tiles has a hole at tile 22. */
static bool load_tile(struct tile *tile, unsigned number)
{
	nap(2);
	tile->number = number;
	tile->magic = number == 22 ? 0 : 0x54494c45;
	return tile->magic == 0x54494c45;
}

static void paint(struct band *band, const struct tile *tile, unsigned frame)
{
	for (unsigned y = 0; y < ROWS; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			band->pixels[y][x] = (uint8_t)(x * y + tile->number + frame);
}

static void paint_blank(struct band *band)
{
	memset(band->pixels, 0, sizeof(band->pixels));
	band->blank++;
}

static void add_checksum(const struct band *band)
{
	uint32_t sum = 0;

	for (unsigned y = 0; y < ROWS; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			sum = sum * 31 + band->pixels[y][x];
	pthread_mutex_lock(&checksum_lock);
	checksum ^= sum;
	pthread_mutex_unlock(&checksum_lock);
}

/* All bands of a frame must be painted before the next one begins. */
static void finish_frame(unsigned frame)
{
	int last = pthread_barrier_wait(&frame_done);

	if (last == PTHREAD_BARRIER_SERIAL_THREAD)
		fprintf(stderr, "frame %u\n", frame);
}

static void *render_band_of_tiles(void *data)
{
	struct band *band = data;

	for (unsigned frame = 0; frame < FRAMES; frame++) {
		struct tile tile;

		if (load_tile(&tile, frame * BANDS + band->number)) {
			paint(band, &tile, frame);
		} else if (tolerant) {
			paint_blank(band);
		} else {
			fprintf(stderr, "tile %u is damaged\n", tile.number);
			return NULL;
		}
		add_checksum(band);
		finish_frame(frame);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[BANDS];

	tolerant = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_barrier_init(&frame_done, NULL, BANDS);
	for (unsigned i = 0; i < BANDS; i++) {
		char name[16];

		bands[i].number = i;
		if (pthread_create(&threads[i], NULL, render_band_of_tiles, &bands[i]))
			return 1;
		snprintf(name, sizeof(name), "band-%u", i);
		pthread_setname_np(threads[i], name);
	}
	for (unsigned i = 0; i < BANDS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&frame_done);
	printf("checksum %08x\n", checksum);
	return 0;
}
