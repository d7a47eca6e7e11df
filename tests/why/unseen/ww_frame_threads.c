/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread frame-1 finds a damaged slice and ends with an error. It should have reported the
 *          frame's progress first: the next frame refers to this one, so the other decoders and the output
 *          wait for ever.
 *   culprit: frame-1([^0-9]|$)
 *   victim: await_progress|take_picture|frame-[023]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	THREADS = 4,
	PICTURES = 100,
	ROWS = 8,
	WIDTH = 256,
	DAMAGED = 41,
	DAMAGED_ROW = 5
};

struct picture {
	int rows_done;
	bool concealed;
	unsigned char rows[ROWS][WIDTH];
};

struct decoder {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t progress;
	int index, error;
};

static bool broken;
static struct decoder decoders[THREADS];
static struct picture *pictures;
static pthread_mutex_t bitstream_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long bits_read;

static struct decoder *decoder_of(int number)
{
	return &decoders[number % THREADS];
}

static void report_progress(int number, int rows)
{
	struct decoder *decoder = decoder_of(number);

	pthread_mutex_lock(&decoder->lock);
	if (rows > pictures[number].rows_done)
		pictures[number].rows_done = rows;
	pthread_cond_broadcast(&decoder->progress);
	pthread_mutex_unlock(&decoder->lock);
}

static void await_progress(int number, int rows)
{
	struct decoder *decoder = decoder_of(number);

	pthread_mutex_lock(&decoder->lock);
	while (pictures[number].rows_done < rows)
		pthread_cond_wait(&decoder->progress, &decoder->lock);
	pthread_mutex_unlock(&decoder->lock);
}

static int read_slice(int number, int row)
{
	pthread_mutex_lock(&bitstream_lock);
	bits_read += 8 * WIDTH;
	pthread_mutex_unlock(&bitstream_lock);
	return number == DAMAGED && row == DAMAGED_ROW ? -1 : 0;
}

static int decode_picture(int number)
{
	struct picture *picture = &pictures[number];

	for (int row = 0; row < ROWS; row++) {
		if (number > 0)
			await_progress(number - 1, row + 1 < ROWS ? row + 2 : ROWS);
		if (read_slice(number, row) < 0)
			return -1;
		for (int x = 0; x < WIDTH; x++)
			picture->rows[row][x] = (number ? pictures[number - 1].rows[row][x] : x) +
				1;
		usleep(50);
		report_progress(number, row + 1);
	}
	return 0;
}

static void conceal_picture(int number)
{
	struct picture *picture = &pictures[number];

	memcpy(picture->rows, pictures[number - 1].rows, sizeof picture->rows);
	picture->concealed = true;
}

static void *run_decoder(void *data)
{
	struct decoder *decoder = data;

	for (int number = decoder->index; number < PICTURES; number += THREADS) {
		if (decode_picture(number) == 0)
			continue;
		if (broken) {
			decoder->error = -1; /* the caller sees it when it takes the picture */
			return NULL;
		}
		await_progress(number - 1, ROWS);
		conceal_picture(number);
		report_progress(number, ROWS);
	}
	return NULL;
}

/* A picture's error is known once the picture is complete. */
static struct picture *take_picture(int number)
{
	await_progress(number, ROWS);
	return decoder_of(number)->error ? NULL : &pictures[number];
}

int main(int argc, char **argv)
{
	unsigned shown = 0, concealed = 0;
	char name[16];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pictures = calloc(PICTURES, sizeof *pictures);
	for (int i = 0; i < THREADS; i++) {
		pthread_mutex_init(&decoders[i].lock, NULL);
		pthread_cond_init(&decoders[i].progress, NULL);
		decoders[i].index = i;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&decoders[i].thread, NULL, run_decoder, &decoders[i]);
		snprintf(name, sizeof name, "frame-%d", i);
		pthread_setname_np(decoders[i].thread, name);
	}
	for (int number = 0; number < PICTURES; number++) {
		struct picture *picture = take_picture(number);

		shown += picture != NULL;
		concealed += picture && picture->concealed;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(decoders[i].thread, NULL);
	printf("%u pictures, %u of them concealed; %lu bits\n", shown, concealed, bits_read);
	return shown == PICTURES ? 0 : 1;
}
