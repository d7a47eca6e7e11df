/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread band-3 leaves its loop as soon as its own band has converged,
 *     and ends. It should have stayed until all bands had, as the barrier swept
 *     needs four parties. So the other three bands wait there for ever.
 *   culprit: band-3
 *   victim: band-[012]|swept
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BANDS 4
#define ROWS 16
#define HEIGHT (BANDS * ROWS)
#define WIDTH 64
#define MIN_SWEEPS 12
#define MAX_SWEEPS 150
#define TOLERANCE 0.05

static double plate[2][HEIGHT + 2][WIDTH + 2];
static double residual[BANDS];
static int sweeps[BANDS];
static pthread_barrier_t swept;
static pthread_mutex_t progress_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_made = PTHREAD_COND_INITIALIZER;
static int slowest;
static bool finished;
static bool stop_together;

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void heat_middles(void)
{
	for (int band = 0; band < BANDS - 1; band++)
		for (int side = 0; side < 2; side++)
			plate[side][1 + band * ROWS + ROWS / 2][WIDTH / 2] = 100.0;
}

static double relax_rows(int from, int band)
{
	double change = 0;

	for (int row = 1 + band * ROWS; row <= (band + 1) * ROWS; row++)
		for (int column = 1; column <= WIDTH; column++) {
			double old = plate[from][row][column];
			double new = (plate[from][row - 1][column] + plate[from][row + 1][column] +
					     plate[from][row][column - 1] +
					     plate[from][row][column + 1]) /
				4;

			if (band < BANDS - 1 && row == 1 + band * ROWS + ROWS / 2 &&
				column == WIDTH / 2)
				new = old;
			plate[!from][row][column] = new;
			change = larger(change, new > old ? new - old : old - new);
		}
	return change;
}

static bool converged(int band)
{
	double most = residual[band];

	if (stop_together)
		for (int i = 0; i < BANDS; i++)
			most = larger(most, residual[i]);
	return most < TOLERANCE;
}

static void *relax_band(void *data)
{
	int band = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "band-%d", band);
	pthread_setname_np(pthread_self(), name);
	for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
		residual[band] = relax_rows(sweep % 2, band);
		pthread_barrier_wait(&swept);
		if (sweep >= MIN_SWEEPS && converged(band))
			break;
		sweeps[band] = sweep + 1;
		if (band == 0 && sweep % 10 == 9) {
			pthread_mutex_lock(&progress_lock);
			slowest = sweep + 1;
			pthread_cond_signal(&progress_made);
			pthread_mutex_unlock(&progress_lock);
		}
		nanosleep(&(struct timespec){.tv_nsec = 300000L * (band + 1)}, NULL);
		pthread_barrier_wait(&swept);
	}
	return NULL;
}

/* It keeps the last line of progress, as the terminal would show it. */
static void *show_progress(void *data)
{
	char *line = data;

	pthread_mutex_lock(&progress_lock);
	while (!finished) {
		snprintf(line, 32, "%d of %d sweeps", slowest, MAX_SWEEPS);
		pthread_cond_wait(&progress_made, &progress_lock);
	}
	pthread_mutex_unlock(&progress_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t bands[BANDS], progress;
	int numbers[BANDS];
	char line[32] = "";

	if (argc != 2)
		return 2;
	stop_together = !strcmp(argv[1], "healthy");
	heat_middles();
	pthread_barrier_init(&swept, NULL, BANDS);
	pthread_create(&progress, NULL, show_progress, line);
	for (int i = 0; i < BANDS; i++) {
		numbers[i] = i;
		pthread_create(&bands[i], NULL, relax_band, &numbers[i]);
	}
	for (int i = 0; i < BANDS; i++)
		pthread_join(bands[i], NULL);
	pthread_mutex_lock(&progress_lock);
	finished = true;
	pthread_cond_signal(&progress_made);
	pthread_mutex_unlock(&progress_lock);
	pthread_join(progress, NULL);
	pthread_barrier_destroy(&swept);
	printf("%d sweeps, %.3f in the last band\n", sweeps[0],
		plate[0][HEIGHT - ROWS + 1][WIDTH / 2]);
	return 0;
}
