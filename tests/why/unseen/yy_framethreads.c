/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread frame-4 meets a corrupt slice and leaves its frame without reporting the rest of the
 *   	rows. It should have reported the whole frame as done, as frame-5 waits for the rows of its reference.
 *   culprit: frame-4
 *   victim: frame-5|await_rows
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 12
#define ROWS 24
#define WIDTH 640

struct frame {
	pthread_mutex_t mutex;
	pthread_cond_t progress;
	int rows_done;
	int number;
	int damaged;
	uint8_t pixels[ROWS][WIDTH];
	struct frame *reference;
	pthread_t thread;
};

static struct frame frames[FRAMES];
static bool broken;

static void report_rows(struct frame *f, int rows)
{
	pthread_mutex_lock(&f->mutex);
	if (rows > f->rows_done) {
		f->rows_done = rows;
		pthread_cond_broadcast(&f->progress);
	}
	pthread_mutex_unlock(&f->mutex);
}

static void await_rows(struct frame *f, int rows)
{
	pthread_mutex_lock(&f->mutex);
	while (f->rows_done < rows)
		pthread_cond_wait(&f->progress, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

static bool slice_is_corrupt(const struct frame *f, int row)
{
	return f->number == 4 && row == 10;
}

static void predict_row(struct frame *f, int row)
{
	for (int x = 0; x < WIDTH; x++) {
		uint8_t old = f->reference ? f->reference->pixels[row][x] : 128;
		f->pixels[row][x] = (uint8_t)(old + ((x ^ row) & 3));
	}
	usleep(700);
}

static int decode_slices(struct frame *f)
{
	for (int row = 0; row < ROWS; row++) {
		if (f->reference) {
			/* A motion vector reaches two rows down. */
			int need = row + 3 < ROWS ? row + 3 : ROWS;
			await_rows(f->reference, need);
		}
		if (slice_is_corrupt(f, row))
			return -1;
		predict_row(f, row);
		report_rows(f, row + 1);
	}
	return 0;
}

static void conceal_errors(struct frame *f)
{
	for (int row = f->rows_done; row < ROWS; row++)
		memset(f->pixels[row], 128, WIDTH);
	f->damaged = 1;
}

static void *decode_frame(void *arg)
{
	struct frame *f = arg;
	char name[16];
	snprintf(name, sizeof name, "frame-%d", f->number);
	pthread_setname_np(pthread_self(), name);
	if (decode_slices(f) < 0) {
		conceal_errors(f);
		if (broken)
			return NULL;
	}
	report_rows(f, INT_MAX);
	return NULL;
}

static unsigned show_frame(struct frame *f)
{
	pthread_join(f->thread, NULL);
	unsigned sum = 0;
	for (int row = 0; row < ROWS; row++)
		for (int x = 0; x < WIDTH; x++)
			sum = sum * 31 + f->pixels[row][x];
	return sum;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < FRAMES; i++) {
		pthread_mutex_init(&frames[i].mutex, NULL);
		pthread_cond_init(&frames[i].progress, NULL);
		frames[i].number = i;
		frames[i].reference = i % 6 ? &frames[i - 1] : NULL;
	}
	for (int i = 0; i < FRAMES; i++)
		pthread_create(&frames[i].thread, NULL, decode_frame, &frames[i]);
	int damaged = 0;
	for (int i = 0; i < FRAMES; i++) {
		printf("frame %2d: %08x\n", i, show_frame(&frames[i]));
		damaged += frames[i].damaged;
	}
	printf("%d frames, %d damaged\n", FRAMES, damaged);
	return 0;
}
