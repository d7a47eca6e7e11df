/* SPDX-License-Identifier: ISC */
/* Opened bands and threads. Private to this folder. */
#ifndef SCENE_BANDS_OPENED_H
#define SCENE_BANDS_OPENED_H

#include "analyse/story/story.h"
#include "scene/bands/bands.h"

enum {
	THRUM__OPENED_HEAD = 44, /* px above the rows */
	THRUM__OPENED_ROW = 20,  /* px */
	THRUM__OPENED_ROWS = 8,  /* of a band that is opened once; 8 times as many with each step */
	THRUM__OPENED_ROWS_MAX = 512,
	THRUM__OPENED_OBJECT = 18,   /* px of a row of an opened queue */
	THRUM__OPENED_OBJECTS = 16,  /* rows of it at most */
	THRUM__OPENED_LANE = 3 * 16, /* px of a lane of an opened thread */
};

/* How many rows a band has at most that is opened so far. */
static inline uint32_t thrum__bands_opened_rows(int opened)
{
	return THRUM__OPENED_ROWS << (3 * (opened - 1));
}

/* The task of the row at y from the top of an opened band, or NONE; of the box of an opened thread at a
 * time. `grain`: ns of a pixel. */
uint32_t thrum__bands_opened_task(const struct thrum__scene *,
	const struct thrum__scene_bands_place *, float y);
uint32_t thrum__bands_lanes_task(const struct thrum__scene_bands *,
	const struct thrum__scene_bands_place *, float y, int64_t time, int64_t grain);
/* Whether y is at the line below the rows that opens the band further; if all are shown, it isn't there. */
bool thrum__bands_opens_on(const struct thrum__scene *, const struct thrum__scene_bands_place *,
	float y);
/* Gives the tasks of the first rows of an opened band; returns how many. */
uint32_t thrum__bands_opened_tasks(const struct thrum__scene *,
	const struct thrum__scene_bands_place *, uint32_t *tasks, uint32_t most);

/* Writes for whom the row of a task waits, as it was last painted: ", waits longest for database: 12 ms"; "":
 * it doesn't. */
void thrum__bands_row_words(const struct thrum__scene_bands *, uint32_t task, char *words,
	size_t size);
/* Gives the first boxes of an opened thread's tasks that have names; returns how many. */
uint32_t thrum__bands_named_boxes(const struct thrum__scene *,
	const struct thrum__scene_bands_place *, struct thrum__bands_run *boxes, uint32_t most);

/* The rows below the names, and the boxes of a thread. */
void thrum__bands_paint_opened(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);
void thrum__bands_paint_lanes(struct thrum__bands_pen *, const struct thrum__scene_bands_place *);

/* The lock of a queue that is held longest at a time; in its opened rows the row's lock, or who holds
 * that for at least a few px. NONE: nothing is there. */
uint32_t thrum__bands_queue_task(const struct thrum__scene_bands *,
	const struct thrum__scene_bands_place *, float y, int64_t time, int64_t pixel);

#endif
