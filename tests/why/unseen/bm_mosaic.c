/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The barrier pass_end counts all four strip threads, but the picture has fewer bands than threads,
 *     and smooth_strip returns at once when its strip is empty. So the others wait at the barrier for a thread
 *     that ended.
 *   culprit: pass_end|smooth_strip
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Smooths a picture in several passes: each thread has a strip, and all begin a pass together. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH 320
#define HEIGHT 96
#define BAND 32
#define THREADS 4
#define PASSES 12

struct strip {
	int number;
	int first;
	int end;
};

static float picture[2][HEIGHT][WIDTH];
static struct strip strips[THREADS];
static pthread_barrier_t pass_end;
static atomic_int passes_done;
static atomic_bool finished;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void draw_noise(void)
{
	unsigned seed = 7;

	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++) {
			seed = seed * 1103515245 + 12345;
			picture[0][y][x] = (float)(seed >> 16 & 255);
		}
	}
}

/* Bands of 32 rows are dealt to the threads in turn; a thread has neighbouring bands only. */
static int divide(int rows)
{
	int bands = rows / BAND;
	int share = (bands + THREADS - 1) / THREADS;
	int row = 0;
	int used = 0;

	for (int i = 0; i < THREADS; i++) {
		strips[i].number = i;
		strips[i].first = row;
		row += share * BAND;
		if (row > rows)
			row = rows;
		strips[i].end = row;
		if (strips[i].end > strips[i].first)
			used++;
	}
	return used;
}

static float mean(int from, int y, int x)
{
	float sum = 0;
	int count = 0;

	for (int dy = -1; dy <= 1; dy++) {
		for (int dx = -1; dx <= 1; dx++) {
			if (y + dy < 0 || y + dy >= HEIGHT || x + dx < 0 || x + dx >= WIDTH)
				continue;
			sum += picture[from][y + dy][x + dx];
			count++;
		}
	}
	return sum / (float)count;
}

static void smooth_rows(const struct strip *strip, int from)
{
	for (int y = strip->first; y < strip->end; y++) {
		for (int x = 0; x < WIDTH; x++)
			picture[!from][y][x] = mean(from, y, x);
	}
}

static void *smooth_strip(void *data)
{
	const struct strip *strip = data;

	if (strip->first == strip->end)
		return NULL;
	for (int pass = 0; pass < PASSES; pass++) {
		smooth_rows(strip, pass & 1);
		if (pthread_barrier_wait(&pass_end) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&passes_done, 1);
	}
	return NULL;
}

static void *show_progress(void *data)
{
	(void)data;
	while (!atomic_load(&finished)) {
		printf("%d of %d passes\n", atomic_load(&passes_done), PASSES);
		fflush(stdout);
		pause_ms(50);
	}
	return NULL;
}

static double contrast(void)
{
	double sum = 0;

	for (int y = 1; y < HEIGHT; y++) {
		for (int x = 1; x < WIDTH; x++) {
			double step = picture[PASSES & 1][y][x] - picture[PASSES & 1][y][x - 1];

			sum += step * step;
		}
	}
	return sum / (HEIGHT * WIDTH);
}

int main(int argc, char **argv)
{
	pthread_t workers[THREADS];
	pthread_t progress;
	int used;

	if (argc < 2)
		return 2;
	draw_noise();
	used = divide(HEIGHT);
	pthread_barrier_init(&pass_end, NULL,
		strcmp(argv[1], "healthy") ? THREADS : (unsigned)used);
	pthread_create(&progress, NULL, show_progress, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&workers[i], NULL, smooth_strip, &strips[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i], NULL);
	atomic_store(&finished, true);
	pthread_join(progress, NULL);
	pthread_barrier_destroy(&pass_end);
	printf("contrast %.3f\n", contrast());
	return 0;
}
