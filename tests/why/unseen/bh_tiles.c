/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: threads work in phases, and one that has finished its tile leaves. If all others have arrived
 *     already, the one that leaves begins the next phase; but phase_leave wakes only one of them (a signal
 *     instead of a broadcast), so two sleep on in the old phase and the third waits for them in the next.
 *   culprit: phase_leave
 *   victim: main\b|run_tile
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	TILES = 4,
	CELLS = 4000,
	SHORT = 12,
	LONG = 25
};

struct phases {
	pthread_mutex_t mutex;
	pthread_cond_t next;
	unsigned members, arrived, phase;
};

struct tile {
	unsigned number, steps;
	double cells[CELLS];
};

static struct phases phases = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
static struct tile tiles[TILES];
static bool wake_all;
static unsigned frames;

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- Phases that threads may join and leave ---- */

static void phase_join(struct phases *of)
{
	pthread_mutex_lock(&of->mutex);
	of->members++;
	pthread_mutex_unlock(&of->mutex);
}

static __attribute__((noinline)) void phase_await(struct phases *of)
{
	unsigned phase;

	pthread_mutex_lock(&of->mutex);
	phase = of->phase;
	if (++of->arrived == of->members) {
		of->arrived = 0;
		of->phase++;
		pthread_cond_broadcast(&of->next);
	} else {
		while (of->phase == phase)
			pthread_cond_wait(&of->next, &of->mutex);
	}
	pthread_mutex_unlock(&of->mutex);
}

static __attribute__((noinline)) void phase_leave(struct phases *of)
{
	pthread_mutex_lock(&of->mutex);
	of->members--;
	if (of->members && of->arrived == of->members) {
		of->arrived = 0;
		of->phase++;
		if (wake_all)
			pthread_cond_broadcast(&of->next);
		else
			pthread_cond_signal(&of->next);
	}
	pthread_mutex_unlock(&of->mutex);
}

/* ---- The work ---- */

static void tile_step(struct tile *tile)
{
	for (unsigned i = 1; i + 1 < CELLS; i++)
		tile->cells[i] += 0.2 *
			(tile->cells[i - 1] - 2 * tile->cells[i] + tile->cells[i + 1]);
}

/* Writes the picture of a tile; the disk is slow. */
static double tile_store(const struct tile *tile)
{
	double sum = 0;

	for (unsigned i = 0; i < CELLS; i++)
		sum += tile->cells[i];
	pause_ms(120);
	return sum;
}

static void *run_tile(void *data)
{
	struct tile *tile = data;
	char name[16];

	snprintf(name, sizeof name, "tile-%u", tile->number);
	pthread_setname_np(pthread_self(), name);
	for (unsigned step = 0; step < tile->steps; step++) {
		tile_step(tile);
		pause_ms(1);
		phase_await(&phases);
	}
	if (tile_store(tile) < 0)
		fprintf(stderr, "tile %u is negative\n", tile->number);
	phase_leave(&phases);
	return NULL;
}

static void render_frame(void)
{
	pthread_t threads[TILES];

	for (unsigned i = 0; i < TILES; i++) {
		tiles[i].number = i;
		/* The upper tile is only sky. */
		tiles[i].steps = i == 0 ? SHORT : LONG;
		tiles[i].cells[CELLS / 2] = 100 + i;
		phase_join(&phases);
	}
	for (unsigned i = 0; i < TILES; i++)
		if (pthread_create(&threads[i], NULL, run_tile, &tiles[i]))
			abort();
	for (unsigned i = 0; i < TILES; i++)
		pthread_join(threads[i], NULL);
	frames++;
}

int main(int count, char **arguments)
{
	wake_all = count < 2 || strcmp(arguments[1], "broken");
	for (;;) {
		render_frame();
		fprintf(stderr, "%u frames\n", frames);
	}
}
