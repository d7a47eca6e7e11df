/* SPDX-License-Identifier: ISC */
/* Writes a picture under a temporary name first, then renames it. */
#define _GNU_SOURCE
#include "picture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <thrum/trace.h>
#include <unistd.h>

#include "output.h"

struct target {
	const char *path;
	char temporary[PATH_MAX]; /* "": a pipe or device, written directly */
	int fd;
};

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

static bool is_trace(const char *path)
{
	struct thrum_trace *trace;

	if (thrum_trace_open(path, &trace, NULL) < 0)
		return false;
	thrum_trace_close(trace);
	return true;
}

static int open_temporary(struct target *target)
{
	mode_t mask = umask(0);

	umask(mask);
	if (snprintf(target->temporary, sizeof(target->temporary), "%s.XXXXXX", target->path) >=
		(int)sizeof(target->temporary))
		return failed(target->path, "the name is too long");
	target->fd = mkostemp(target->temporary, O_CLOEXEC);
	if (target->fd < 0)
		return failed(target->path, strerror(errno));
	/* mkostemp gives 0600; a picture gets the user's usual permissions. */
	(void)fchmod(target->fd, 0666 & ~mask);
	return STATUS_OK;
}

static int open_target(struct target *target)
{
	struct stat there;

	target->temporary[0] = '\0';
	if (lstat(target->path, &there) < 0)
		return open_temporary(target);
	if (S_ISLNK(there.st_mode))
		return failed(target->path, "a symbolic link is in the way");
	if (S_ISDIR(there.st_mode))
		return failed(target->path, strerror(EISDIR));
	if (S_ISREG(there.st_mode)) {
		if (there.st_size > 0 && is_trace(target->path))
			return failed(target->path, "a trace is in the way");
		return open_temporary(target);
	}
	target->fd = open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return target->fd < 0 ? failed(target->path, strerror(errno)) : STATUS_OK;
}

/* Closes the file; after a failure removes it. */
static int close_target(struct target *target, int status)
{
	if (close(target->fd) < 0 && status == STATUS_OK)
		status = failed(target->path, strerror(errno));
	if (!target->temporary[0])
		return status;
	if (status == STATUS_OK && rename(target->temporary, target->path) < 0)
		status = failed(target->path, strerror(errno));
	if (status != STATUS_OK)
		unlink(target->temporary);
	return status;
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
		result = thrum__draw_png(lists, count, picture->theme, picture->scale, take_bytes,
			&out);
	else
		result = (picture->format == PICTURE_PDF ? thrum__draw_pdf : thrum__draw_svg)(lists,
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

int file_write(const char *file, int (*write)(void *context, const char *path, int fd),
	void *context)
{
	struct target target = {.path = file};
	int status;

	if (strcmp(file, "-") == 0)
		return write(context, file, STDOUT_FILENO);
	status = open_target(&target);
	if (status != STATUS_OK)
		return status;
	return close_target(&target, write(context, file, target.fd));
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

	return file_write(file, write_drawing, &drawing);
}
