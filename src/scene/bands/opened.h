/* SPDX-License-Identifier: ISC */
/* Opened bands and threads. Private to this folder. */
#ifndef SCENE_BANDS_OPENED_H
#define SCENE_BANDS_OPENED_H

#include "analyse/story/story.h"
#include "scene/bands/bands.h"

enum {
	THRUM__OPENED_HEAD = 44,     /* px above the rows */
	THRUM__OPENED_ROW = 20,      /* px */
	THRUM__OPENED_ROWS = 8,      /* of a band that is opened once */
	THRUM__OPENED_ROWS_MAX = 64, /* of a band that is opened twice */
	THRUM__OPENED_OBJECT = 18,   /* px of a row of an opened queue */
	THRUM__OPENED_OBJECTS = 16,  /* rows of it at most */
	THRUM__OPENED_LANE = 3 * 16, /* px of a lane of an opened thread */
};

/* The rows below the names, and the boxes of a thread. */
void thrum__bands_paint_opened(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);
void thrum__bands_paint_lanes(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);

#endif
