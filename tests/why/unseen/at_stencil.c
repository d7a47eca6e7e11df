/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=exchange_halo
 *   truth: the thread rank-3 writes a checkpoint (write_checkpoint, waits for the disk) in each step instead
 *     of each 20th, so that all others wait for it at the barrier in exchange_halo
 *   culprit: write_checkpoint|rank-3
 *   victim: rank-[012]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Heat in a plate: each thread has a strip, and the threads exchange their borders after each step. */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RANKS 4
#define ROWS 48
#define COLUMNS 256
#define STEPS 60

struct strip {
	pthread_t thread;
	int rank;
	double cells[ROWS + 2][COLUMNS];
	double next[ROWS + 2][COLUMNS];
	double change;
};

static struct strip strips[RANKS];
static pthread_barrier_t borders_read, borders_written;
static pthread_mutex_t total_mutex = PTHREAD_MUTEX_INITIALIZER;
static double total_change;
static int checkpoint_every = 20;
static unsigned checkpoints;
static FILE *checkpoint_file;

static void nap_us(int us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	nanosleep(&t, NULL);
}

static void compute(struct strip *strip)
{
	strip->change = 0;
	for (int y = 1; y <= ROWS; y++)
		for (int x = 1; x < COLUMNS - 1; x++) {
			double mean = (strip->cells[y - 1][x] + strip->cells[y + 1][x] +
					      strip->cells[y][x - 1] + strip->cells[y][x + 1]) /
				4;

			strip->change += fabs(mean - strip->cells[y][x]);
			strip->next[y][x] = mean;
		}
	for (int y = 1; y <= ROWS; y++)
		memcpy(strip->cells[y] + 1, strip->next[y] + 1, (COLUMNS - 2) * sizeof(double));
}

/* Waits until all strips are computed, then copies the neighbours' borders. */
static void exchange_halo(struct strip *strip)
{
	pthread_barrier_wait(&borders_written);
	if (strip->rank > 0)
		memcpy(strip->cells[0], strips[strip->rank - 1].cells[ROWS],
			sizeof(strip->cells[0]));
	if (strip->rank < RANKS - 1)
		memcpy(strip->cells[ROWS + 1], strips[strip->rank + 1].cells[1],
			sizeof(strip->cells[0]));
	pthread_barrier_wait(&borders_read);
}

/* Saves the strip, so that the computation can be continued. */
static void write_checkpoint(const struct strip *strip, int step)
{
	rewind(checkpoint_file);
	fwrite(&step, sizeof(step), 1, checkpoint_file);
	fwrite(strip->cells, sizeof(strip->cells), 1, checkpoint_file);
	fflush(checkpoint_file);
	fsync(fileno(checkpoint_file));
	nap_us(12000); /* a slow disk */
	checkpoints++;
}

static void add_change(const struct strip *strip)
{
	pthread_mutex_lock(&total_mutex);
	total_change += strip->change;
	pthread_mutex_unlock(&total_mutex);
}

static void *run_rank(void *data)
{
	struct strip *strip = data;
	char name[16];

	snprintf(name, sizeof(name), "rank-%d", strip->rank);
	pthread_setname_np(pthread_self(), name);
	for (int step = 1; step <= STEPS; step++) {
		compute(strip);
		if (strip->rank == RANKS - 1 && step % checkpoint_every == 0)
			write_checkpoint(strip, step);
		exchange_halo(strip);
		if (step % 10 == 0)
			add_change(strip);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "broken"))
		checkpoint_every = 1;
	checkpoint_file = tmpfile();
	if (!checkpoint_file)
		return 1;
	pthread_barrier_init(&borders_read, NULL, RANKS);
	pthread_barrier_init(&borders_written, NULL, RANKS);
	for (int i = 0; i < RANKS; i++) {
		strips[i].rank = i;
		for (int y = 0; y < ROWS + 2; y++)
			strips[i].cells[y][0] = 100;
	}
	for (int i = 0; i < RANKS; i++)
		pthread_create(&strips[i].thread, NULL, run_rank, &strips[i]);
	for (int i = 0; i < RANKS; i++)
		pthread_join(strips[i].thread, NULL);
	printf("%d steps, %u checkpoints, change %.3f\n", STEPS, checkpoints, total_change);
	fclose(checkpoint_file);
	return 0;
}
