/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: decode_tile holds codec_lock, which was meant for the table of codecs, during the whole decoding; so the tiles are decoded one after the other instead of six at a time.
 *   culprit: codec_lock|decode_tile
 *   victim: compose_frame
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A video player: a frame has six tiles, each is decoded by a thread with the help of the graphics card. Codecs are
 * opened when they are first needed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TILES 6
#define FRAMES 4

struct codec {
	char name[16];
	unsigned uses;
};

struct tile {
	int number;
	const char *format;
	unsigned char pixels[256];
};

static bool broken;
static pthread_mutex_t codec_lock = PTHREAD_MUTEX_INITIALIZER;
static struct codec codecs[4];
static int codec_count;

static void card_decodes(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

/* The caller holds codec_lock. */
static struct codec *find_codec(const char *name)
{
	for (int i = 0; i < codec_count; i++)
		if (!strcmp(codecs[i].name, name))
			return &codecs[i];
	snprintf(codecs[codec_count].name, sizeof(codecs[0].name), "%s", name);
	return &codecs[codec_count++];
}

static void decode(struct tile *tile)
{
	card_decodes(25);
	memset(tile->pixels, tile->number, sizeof(tile->pixels));
}

static void *decode_tile(void *data)
{
	struct tile *tile = data;

	pthread_mutex_lock(&codec_lock);
	find_codec(tile->format)->uses++;
	if (broken) {
		decode(tile);
		pthread_mutex_unlock(&codec_lock);
	} else {
		pthread_mutex_unlock(&codec_lock);
		decode(tile);
	}
	return NULL;
}

static unsigned compose_frame(int frame)
{
	struct tile tiles[TILES];
	pthread_t threads[TILES];
	unsigned sum = 0;

	for (int i = 0; i < TILES; i++) {
		tiles[i].number = frame * TILES + i;
		tiles[i].format = i % 2 ? "av1" : "vp9";
		if (pthread_create(&threads[i], NULL, decode_tile, &tiles[i]))
			exit(1);
	}
	for (int i = 0; i < TILES; i++) {
		pthread_join(threads[i], NULL);
		sum += tiles[i].pixels[0];
	}
	return sum;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	for (int frame = 0; frame < FRAMES; frame++)
		printf("frame %d: %u\n", frame, compose_frame(frame));
	return 0;
}
