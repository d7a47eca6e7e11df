/* SPDX-License-Identifier: ISC */
/* The picture of thirty requests in bands, and questions about it. */
#ifndef SCENE_BANDS_HELPER_H
#define SCENE_BANDS_HELPER_H

#include "picture_helper.h"
#include "scene/bands/bands.h"

#define MS 1000000
#define REQUESTS 30
#define WIDTH 1600
#define HEIGHT 900

/* Some requests are unlike the others, which take 1 ms. */
enum {
	STUCK = 5,   /* never resolves */
	SLOW = 10,   /* takes 40 ms */
	FAILED = 20, /* fails after 3 ms */
	FIRST_ID = 100,
};

/* Makes the picture for a test, and frees it. A request begins every 10 ms and runs for 100 µs. */
int bands_set_up(void **state);
int bands_tear_down(void **state);

/* Carries out a command, and paints. Returns as thrum__scene_command does. */
int bands_command(struct picture *, int number);

float bands_x(const struct picture *, long time);
/* y of a request's line in the picture. */
float bands_y(const struct picture *, int request);
/* The band of the requests. */
const struct thrum__scene_bands_place *bands_place(const struct picture *);

/* Returns the colour of the cell at a place, or -1. */
int bands_cell(const struct picture *, float x, float y);
/* Whether a cell of a colour lies within a class of a place's height. */
bool bands_has_cell(const struct picture *, int colour, float x, float y);

/* Whether a text somewhere in the picture has this in it. */
bool bands_says(const struct picture *, const char *words);

#endif
