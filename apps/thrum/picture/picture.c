/* SPDX-License-Identifier: ISC */
/* Writes pictures. */
#define _GNU_SOURCE
#include "picture/picture.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <thrum/trace.h>
#include <unistd.h>

#include "draw/module.h"
#include "line/library.h"
#include "line/output.h"
#include "trace/file.h"
#include "trace/load.h"

/* A static program can't load the libraries of any system. */
#ifdef THRUM_STATIC
#define MAY_LOAD false
#else
#define MAY_LOAD true
#endif

/* NULL until the library is loaded. */
static const struct thrum__draw_module *cairo;

/* Loads the library, or tells why that fails. Returns whether its functions may be called. */
static bool load_cairo(void)
{
	char path[PATH_MAX];
	void *library;

	if (cairo)
		return true;
	if (!MAY_LOAD || !library_find(THRUM__DRAW_MODULE_FILE, path, sizeof(path))) {
		complain("this thrum was built without cairo and pango, and writes only SVG");
		return false;
	}
	library = dlopen(path, RTLD_NOW);
	cairo = library ? dlsym(library, THRUM__DRAW_MODULE) : NULL;
	if (!cairo)
		complain("PNG and PDF need cairo and pango: %s", dlerror());
	return cairo;
}

static int failed(const char *path, const char *why)
{
	complain("%s: %s", strcmp(path, "-") == 0 ? "standard output" : path, why);
	return STATUS_FAILED;
}

enum picture_format picture_format_of(const char *file)
{
	const char *dot = strrchr(file, '.');

	if (strcmp(file, "-") == 0 || (dot && strcasecmp(dot, ".svg") == 0))
		return PICTURE_SVG;
	if (dot && strcasecmp(dot, ".png") == 0)
		return PICTURE_PNG;
	return dot && strcasecmp(dot, ".pdf") == 0 ? PICTURE_PDF : PICTURE_UNKNOWN;
}

int picture_metrics_make(enum picture_format format, const char *file,
	struct thrum__draw_metrics *metrics)
{
	if (format == PICTURE_UNKNOWN) {
		complain("%s: the name must end in .svg, .png or .pdf", file);
		return STATUS_USAGE;
	}
	/* An SVG doesn't depend on the fonts here, as its readers have others. */
	*metrics = thrum__draw_metrics_plain;
	if (format == PICTURE_SVG)
		return STATUS_OK;
	if (!load_cairo())
		return STATUS_FAILED;
	return cairo->metrics_make(metrics) < 0 ? load_no_memory() : STATUS_OK;
}

void picture_metrics_free(enum picture_format format, struct thrum__draw_metrics *metrics)
{
	if (format != PICTURE_SVG)
		cairo->metrics_free(metrics);
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct output *out = context;

	output_bytes(out, bytes, size);
	return out->error ? -THRUM_E_SYSTEM : 0;
}

static int write_format(const struct picture *picture, const struct thrum__draw_list *lists,
	size_t count, const char *path, int fd)
{
	struct output out;
	int result, error;

	if (output_open(&out, fd) < 0)
		return STATUS_FAILED;
	if (picture->format == PICTURE_PNG)
		result = cairo->png(lists, count, picture->theme, picture->scale, take_bytes, &out);
	else
		result = (picture->format == PICTURE_PDF ? cairo->pdf : thrum__draw_svg)(lists,
			count, picture->theme, picture->title, take_bytes, &out);
	output_flush(&out);
	error = out.error;
	out.error = 0;
	(void)output_close(&out);
	/* It is no failure if the reader of a pipe closes it. */
	if (error && !(error == EPIPE && fd == STDOUT_FILENO))
		return failed(path, strerror(error));
	if (result == -THRUM_E_SIZE)
		return failed(path,
			"the picture is too large; give a smaller --width, --height or --scale");
	return error || result == 0 ? STATUS_OK : failed(path, thrum_error_message(result));
}

struct drawing {
	const struct picture *picture;
	const struct thrum__draw_list *lists;
	size_t count;
};

static int write_drawing(void *context, const char *path, int fd)
{
	const struct drawing *drawing = context;

	return write_format(drawing->picture, drawing->lists, drawing->count, path, fd);
}

int picture_write(const struct picture *picture, const struct thrum__draw_list *lists, size_t count,
	const char *file)
{
	struct drawing drawing = {picture, lists, count};

	return file_write(file, FILE_OUTPUT, write_drawing, &drawing);
}
