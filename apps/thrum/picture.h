/* SPDX-License-Identifier: ISC */
/* Display lists to a picture file, which appears complete or not at all. */
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
	float scale; /* of a PNG: its pixels in a CSS pixel */
	const char *title;
};

/* By a file's ending; "-" is SVG. */
enum picture_format picture_format_of(const char *file);

/*
 * Has `write` write a file, which replaces an older one as picture_write's does; or, with "-",
 * standard output. Returns what it returns, or STATUS_FAILED after a message.
 */
int file_write(const char *file, int (*write)(void *context, const char *path, int fd),
	void *context);

/*
 * Writes to a file, replacing an older one but neither a symbolic link nor a trace; or with "-" to
 * standard output. Returns STATUS_OK, or STATUS_FAILED after a message.
 */
int picture_write(const struct picture *, const struct thrum__draw_list *lists, size_t count,
	const char *file);

#endif
