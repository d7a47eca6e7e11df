/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Band 3 leaves for good in a masked sweep. It should have met the others at the barrier.
 *   culprit: band 3
 *   victim: band [012]|sweep barrier|composite
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Smooths radar sweeps: four threads take a band of rows each, and meet after each sweep. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	BANDS = 4,
	ROWS = 64,
	COLUMNS = 256,
	SWEEPS = 240
};

struct barrier {
	pthread_mutex_t mutex;
	pthread_cond_t all_here;
	unsigned arrived, waiters, sweep;
	thrum_task task;
};

struct band {
	int number;
	pthread_t thread;
	thrum_task task;
	float sum;
};

static float field[ROWS][COLUMNS];
static struct barrier barrier = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.all_here = PTHREAD_COND_INITIALIZER};
static struct band bands[BANDS];
static atomic_bool closing;
static bool broken;

/* A sector behind the hill is masked in some sweeps: then there are fewer rows. */
static int rows_of_sweep(int sweep)
{
	return sweep % 50 == 30 ? 48 : ROWS;
}

static void barrier_meet(struct barrier *meet)
{
	thrum_task self = thrum_task_current();
	unsigned sweep;

	pthread_mutex_lock(&meet->mutex);
	sweep = meet->sweep;
	if (++meet->arrived == BANDS) {
		meet->arrived = 0;
		meet->sweep++;
		thrum_task_signal(meet->task, meet->waiters);
		meet->waiters = 0;
		pthread_cond_broadcast(&meet->all_here);
	} else {
		meet->waiters++;
		thrum_task_wait(self, meet->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (meet->sweep == sweep)
			pthread_cond_wait(&meet->all_here, &meet->mutex);
		thrum_resume();
		thrum_task_read(self, meet->task);
	}
	pthread_mutex_unlock(&meet->mutex);
}

static void smooth_row(struct band *band, float *row)
{
	for (int pass = 0; pass < 4; pass++)
		for (int i = 1; i < COLUMNS - 1; i++)
			row[i] = (row[i - 1] + 2 * row[i] + row[i + 1]) / 4;
	band->sum += row[COLUMNS / 2];
}

static void smooth_sweeps(struct band *band)
{
	const int per_band = ROWS / BANDS;

	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		int first = band->number * per_band, end = first + per_band;

		if (end > rows_of_sweep(sweep))
			end = rows_of_sweep(sweep);
		if (first >= end && broken)
			return; /* nothing to do for us */
		for (int row = first; row < end; row++)
			smooth_row(band, field[row]);
		if (sweep % 16 == band->number)
			usleep(1500); /* writes its tile */
		barrier_meet(&barrier);
	}
}

static void *band_thread(void *data)
{
	struct band *band = data;

	THRUM_RUN (band->task) {
		smooth_sweeps(band);
		thrum_task_resolve(band->task);
	}
	return NULL;
}

/* Reports the antenna's angle, as long as the program runs. */
static void *antenna_thread(void *data)
{
	struct thrum_counter *angle = thrum_counter_create("radar/angle", THRUM_COUNTER_GAUGE);

	(void)data;
	thrum_lane_name("antenna");
	for (int degrees = 0; !atomic_load(&closing); degrees = (degrees + 6) % 360) {
		thrum_counter_set(angle, degrees);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(10000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t antenna;
	thrum_task composite;
	float sum = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "radar: not recorded\n");
	for (int i = 0; i < ROWS * COLUMNS; i++)
		field[i / COLUMNS][i % COLUMNS] = (float)(i * 7919 % 1000);
	barrier.task = thrum_task_create(THRUM_KIND_CONDITION, "sweep barrier");
	composite = thrum_task_create(THRUM_KIND_TASK, "composite");
	thrum_task_should_resolve(composite);
	if (pthread_create(&antenna, NULL, antenna_thread, NULL))
		return 1;
	THRUM_RUN (composite) {
		for (int i = 0; i < BANDS; i++) {
			bands[i].number = i;
			bands[i].task = thrum_task_createf(THRUM_KIND_TASK, "band %d", i);
			if (pthread_create(&bands[i].thread, NULL, band_thread, &bands[i]))
				exit(1);
		}
		for (int i = 0; i < BANDS; i++) {
			thrum_task_wait(composite, bands[i].task);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_join(bands[i].thread, NULL);
			thrum_resume();
			thrum_task_read(composite, bands[i].task);
			sum += bands[i].sum;
		}
		thrum_task_resolve(composite);
	}
	atomic_store(&closing, true);
	pthread_join(antenna, NULL);
	printf("composite of %d sweeps: %.1f\n", SWEEPS, (double)sum);
	thrum_stop();
	return 0;
}
