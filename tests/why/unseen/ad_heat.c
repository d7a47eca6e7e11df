/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: band-arctic leaves by its own residual; it should stay until all bands have converged.
 *   culprit: band-arctic
 *   victim: band-(tropics|north|south)|sweep_done
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Heat flow over a strip of sea, cut into bands. A thread relaxes each band; a barrier ends each sweep. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BANDS 4
#define ROWS 16
#define COLUMNS 256
#define SWEEPS_MIN 6
#define SWEEPS_MAX 150
#define TOLERANCE 1e-3

struct band {
	pthread_t thread;
	const char *name;
	int first, last;
	int sweeps;
	double residual;
};

static struct band bands[BANDS] = {
	{.name = "band-tropics"},
	{.name = "band-north"},
	{.name = "band-south"},
	{.name = "band-arctic"},
};
static double sea[2][BANDS * ROWS + 2][COLUMNS];
static pthread_barrier_t sweep_done;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
static bool asks_all;

static double larger(double left, double right)
{
	return left > right ? left : right;
}

static double relax_row(const double (*from)[COLUMNS], double (*to)[COLUMNS], int row)
{
	double worst = 0;

	for (int column = 1; column < COLUMNS - 1; column++) {
		double mean = (from[row - 1][column] + from[row + 1][column] +
				      from[row][column - 1] + from[row][column + 1]) /
			4;

		worst = larger(worst, larger(mean - from[row][column], from[row][column] - mean));
		to[row][column] = mean;
	}
	return worst;
}

static double relax_band(struct band *band, int sweep)
{
	const double(*from)[COLUMNS] = (const double(*)[COLUMNS])sea[sweep % 2];
	double(*to)[COLUMNS] = sea[(sweep + 1) % 2];
	double worst = 0;

	for (int row = band->first; row <= band->last; row++)
		worst = larger(worst, relax_row(from, to, row));
	return worst;
}

static void log_sweep(const struct band *band, int sweep)
{
	pthread_mutex_lock(&log_lock);
	fprintf(log_file, "%s: sweep %d, residual %g\n", band->name, sweep, band->residual);
	pthread_mutex_unlock(&log_lock);
}

static bool has_converged(const struct band *band)
{
	if (!asks_all)
		return band->residual < TOLERANCE;
	for (int i = 0; i < BANDS; i++)
		if (bands[i].residual >= TOLERANCE)
			return false;
	return true;
}

static void *solve_band(void *data)
{
	struct band *band = data;

	pthread_setname_np(pthread_self(), band->name);
	for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
		bool is_done;

		band->residual = relax_band(band, sweep);
		band->sweeps = sweep + 1;
		log_sweep(band, sweep);
		pthread_barrier_wait(&sweep_done);
		/* All residuals of this sweep are known between the two barriers. */
		is_done = sweep >= SWEEPS_MIN && has_converged(band);
		pthread_barrier_wait(&sweep_done);
		if (is_done)
			break;
	}
	return NULL;
}

/* Warm water along the southern edge of the first band. The last one is ice, equally cold throughout. */
static void fill_sea(void)
{
	memset(sea, 0, sizeof(sea));
	for (int half = 0; half < 2; half++) {
		for (int column = 0; column < COLUMNS; column++)
			sea[half][0][column] = 30;
		for (int row = 0; row < (BANDS - 1) * ROWS - 12; row++)
			sea[half][row][0] = sea[half][row][COLUMNS - 1] = 12;
	}
}

int main(int argc, char **argv)
{
	int sweeps = 0;

	asks_all = argc < 2 || strcmp(argv[1], "broken") != 0;
	log_file = fopen("/dev/null", "w");
	if (!log_file)
		return 1;
	fill_sea();
	pthread_barrier_init(&sweep_done, NULL, BANDS);
	for (int i = 0; i < BANDS; i++) {
		bands[i].first = 1 + i * ROWS;
		bands[i].last = (i + 1) * ROWS;
		if (pthread_create(&bands[i].thread, NULL, solve_band, &bands[i]))
			return 1;
	}
	for (int i = 0; i < BANDS; i++) {
		pthread_join(bands[i].thread, NULL);
		sweeps += bands[i].sweeps;
	}
	pthread_barrier_destroy(&sweep_done);
	fclose(log_file);
	printf("%d sweeps of bands, %.2f degrees in the middle\n", sweeps,
		sea[0][ROWS][COLUMNS / 2]);
	return 0;
}
