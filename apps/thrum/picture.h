/* SPDX-License-Identifier: ISC */
/* Writes display lists to a picture file. */
#ifndef PICTURE_H
#define PICTURE_H

#include "command.h"
#include "draw/canvas.h"

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

/* Writes a picture to a FILE_OUTPUT (file.h). Returns STATUS_OK, or STATUS_FAILED after a message. */
int picture_write(const struct picture *, const struct thrum__draw_list *lists, size_t count,
	const char *file);

#endif
