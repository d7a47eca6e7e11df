/* SPDX-License-Identifier: ISC */
/* Shared by the files of `thrum render`. */
#ifndef PICTURE_RENDER_H
#define PICTURE_RENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "line/command.h"
#include "picture/as.h"
#include "picture/picture.h"
#include "stage/stage.h"
#include "trace/load.h"

enum {
	PROJECTION_AUTO,
	PROJECTION_LINEAR,
	PROJECTION_FOLDED,
	PROJECTION_FISHEYE,
};

#define UNSET (-1)

struct render_options {
	const char *output, *scene, *align, *counters, *highlight;
	int64_t start, duration; /* ns; start INT64_MIN: not given; duration 0: to the end */
	uint64_t width, height, scale;
	struct as_options as;
	int theme, projection, format;
	bool legend, strip, related, together;
	struct id_list tasks;
};

struct render {
	const struct command *command;
	struct render_options options;
	struct thrum__scene_bands_state bands; /* from options.as */
	enum picture_format format;
	struct thrum__draw_metrics metrics;
	struct load loads[THRUM__STAGE_MAX]; /* the traces of the stage's parts */
	size_t count;                        /* of loads that are to be finished */
	struct thrum__stage *stage;
};

/* Sets the states of the stage's scenes from the options. Returns STATUS_OK, or another status after
 * a message. */
int render_set_states(struct render *);

/* Prints an error about a trace; `format` has one %s, for `text`, which may hold any bytes. Returns
 * STATUS_FAILED. */
int render_fault(const struct load *, const char *format, const char *text);

#endif
