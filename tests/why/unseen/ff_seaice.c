/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The wind data of strip 2 end after three steps; its thread logs that and returns from run_strip, but the
 *     barrier still counts four threads, so that the other three wait for it at the end of their step.
 *   culprit: \bstrip 2\b|read_wind
 *   victim: \bstrip [013]\b|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * Drifts sea ice over a grid. Each thread has a strip of the grid; after each step all wait for each other, since each
 * strip needs the border of its neighbours.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRIPS 4
#define WIDTH 64
#define HEIGHT 16
#define STEPS 8

struct strip {
	int number;
	FILE *wind;
	double east;
	double ice[2][HEIGHT][WIDTH];
	pthread_t thread;
};

static struct strip strips[STRIPS];
static pthread_barrier_t step_end;
static bool strict;

/* A station's wind, a line for each step. Station 2 was under snow in the end. */
static FILE *open_wind(int number)
{
	FILE *file = tmpfile();
	int lines = number == 2 ? 3 : STEPS;

	if (!file)
		abort();
	for (int i = 0; i < lines; i++)
		fprintf(file, "%d %.2f\n", i, 0.02 * (i + number));
	rewind(file);
	return file;
}

static bool read_wind(struct strip *strip)
{
	int step;
	double east;

	if (fscanf(strip->wind, "%d %lf", &step, &east) != 2)
		return false;
	strip->east = east;
	return true;
}

static const double *row_above(const struct strip *strip, int row, int from)
{
	if (row > 0)
		return strip->ice[from][row - 1];
	return strip->number > 0 ? strips[strip->number - 1].ice[from][HEIGHT - 1]
				 : strip->ice[from][0];
}

static void drift(struct strip *strip, int from)
{
	for (int row = 0; row < HEIGHT; row++) {
		const double *above = row_above(strip, row, from);
		const double *here = strip->ice[from][row];

		for (int i = 0; i < WIDTH; i++) {
			double west = here[i > 0 ? i - 1 : 0];

			strip->ice[!from][row][i] = here[i] + strip->east * (west - here[i]) +
				0.01 * (above[i] - here[i]);
		}
	}
}

static void *run_strip(void *data)
{
	struct strip *strip = data;

	for (int step = 0; step < STEPS; step++) {
		if (!read_wind(strip)) {
			fprintf(stderr, "strip %d: no wind for step %d\n", strip->number, step);
			if (strict)
				return NULL;
			/* The wind of the last step is still the best guess. */
		}
		drift(strip, step % 2);
		pthread_barrier_wait(&step_end);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char name[16];
	double sum = 0;

	strict = argc > 1 && !strcmp(argv[1], "broken");
	pthread_barrier_init(&step_end, NULL, STRIPS);
	for (int i = 0; i < STRIPS; i++) {
		strips[i].number = i;
		strips[i].wind = open_wind(i);
		for (int row = 0; row < HEIGHT; row++)
			strips[i].ice[0][row][row] = 1;
	}
	for (int i = 0; i < STRIPS; i++) {
		pthread_create(&strips[i].thread, NULL, run_strip, &strips[i]);
		snprintf(name, sizeof(name), "strip %d", i);
		pthread_setname_np(strips[i].thread, name);
	}
	for (int i = 0; i < STRIPS; i++)
		pthread_join(strips[i].thread, NULL);
	for (int i = 0; i < STRIPS; i++) {
		for (int row = 0; row < HEIGHT; row++)
			for (int x = 0; x < WIDTH; x++)
				sum += strips[i].ice[STEPS % 2][row][x];
		fclose(strips[i].wind);
	}
	printf("ice: %.3f\n", sum);
	pthread_barrier_destroy(&step_end);
	return 0;
}
