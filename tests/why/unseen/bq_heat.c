/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the strip that has become steady leaves the loop and ends, but the barrier step_done counts all four strips. So the
 *     other three wait there for the one that doesn't come any more.
 *   culprit: strip-3\b|strip_is_steady
 *   victim: main|strip-[012]\b|plotter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* How heat spreads in a rod: each thread computes a strip of it, step by step. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	STRIPS = 4,
	CELLS = 64,
	STEPS = 250
};

struct strip {
	int number;
	pthread_t thread;
	double change;
};

static double heat[2][STRIPS * CELLS + 2];
static struct strip strips[STRIPS];
static pthread_barrier_t step_done;
static atomic_int step_now;
static atomic_bool solved;
static bool stays;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void strip_step(struct strip *strip, int step)
{
	const double *from = heat[step % 2];
	double *to = heat[(step + 1) % 2];
	int begin = strip->number * CELLS + 1;

	strip->change = 0;
	for (int i = begin; i < begin + CELLS; i++) {
		to[i] = from[i] + 0.4 * (from[i - 1] - 2 * from[i] + from[i + 1]);
		strip->change = fmax(strip->change, fabs(to[i] - from[i]));
	}
}

/* A strip that hasn't changed for some steps needs no more computing. */
static bool strip_is_steady(const struct strip *strip, int step)
{
	return step > 60 && strip->change < 1e-12;
}

static void *solve_strip(void *data)
{
	struct strip *strip = data;
	char name[16];

	snprintf(name, sizeof(name), "strip-%d", strip->number);
	pthread_setname_np(pthread_self(), name);
	for (int step = 0; step < STEPS; step++) {
		strip_step(strip, step);
		if (strip_is_steady(strip, step) && !stays) {
			printf("%s is steady after %d steps\n", name, step);
			break;
		}
		if (pthread_barrier_wait(&step_done) == PTHREAD_BARRIER_SERIAL_THREAD) {
			atomic_store(&step_now, step);
			pause_ms(1);
		}
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

/* Draws the picture on the screen ten times a second. */
static void *plot(void *data)
{
	static const char shades[] = " .:-=+*#%@";

	(void)data;
	pthread_setname_np(pthread_self(), "plotter");
	while (!atomic_load(&solved)) {
		char line[STRIPS * 8 + 1];

		for (int i = 0; i < STRIPS * 8; i++) {
			double value = heat[0][1 + i * CELLS / 8];
			int shade = value < 0 ? 0 : value > 90 ? 9 : (int)(value / 10);

			line[i] = shades[shade];
		}
		line[STRIPS * 8] = '\0';
		printf("%4d [%s]\n", atomic_load(&step_now), line);
		fflush(stdout);
		pause_ms(100);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t plotter;

	if (count < 2)
		return 2;
	stays = !strcmp(arguments[1], "healthy");
	heat[0][0] = heat[1][0] = 100;
	for (int i = 1; i < 2 * CELLS - 20; i++)
		heat[0][i] = 50 + i % 5 * 7;
	pthread_barrier_init(&step_done, NULL, STRIPS);
	pthread_create(&plotter, NULL, plot, NULL);
	for (int i = 0; i < STRIPS; i++) {
		strips[i].number = i;
		pthread_create(&strips[i].thread, NULL, solve_strip, &strips[i]);
	}
	for (int i = 0; i < STRIPS; i++)
		pthread_join(strips[i].thread, NULL);
	atomic_store(&solved, true);
	pthread_join(plotter, NULL);
	pthread_barrier_destroy(&step_done);
	puts("solved");
	return 0;
}
