/* SPDX-License-Identifier: ISC */
/* Writes display lists to a picture file. */
#ifndef PICTURE_PICTURE_H
#define PICTURE_PICTURE_H

#include "draw/canvas.h"
#include "line/command.h"

enum picture_format {
	PICTURE_SVG,
	PICTURE_PNG,
	PICTURE_PDF,
	PICTURE_UNKNOWN,
};
#define PICTURE_FORMATS "svg|png|pdf"

struct picture {
	enum picture_format format;
	int theme;
	float scale; /* PNG: image pixels for one CSS pixel */
	const char *title;
};

/* Returns the format for a file's ending; "-" is SVG. */
enum picture_format picture_format_of(const char *file);

/*
 * Makes the metrics of texts for pictures of this format; the caller frees them. Returns STATUS_OK, or
 * another status after a message: the format is unknown, or this build can't write it.
 */
int picture_metrics_make(enum picture_format, const char *file, struct thrum__draw_metrics *);
void picture_metrics_free(enum picture_format, struct thrum__draw_metrics *);

/* Writes a picture to a FILE_OUTPUT (trace/file.h). Returns STATUS_OK, or STATUS_FAILED after a message. */
int picture_write(const struct picture *, const struct thrum__draw_list *lists, size_t count,
	const char *file);

#endif
