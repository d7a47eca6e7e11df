/* SPDX-License-Identifier: ISC */
/* Copies of a trace as it is now, which a thread writes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "source/input.h"
#include "trace/parts.h"

/* Writes the snapshots of several recordings as a bundle. */
static int copy_all(char *const *files, int to, struct thrum_error_info *info)
{
	int result = 0;

	for (; *files && result == 0; files++) {
		g_autofree char *name = g_path_get_basename(*files);
		int part = thrum__source_temporary_file();

		result = part < 0 ? part : thrum_trace_snapshot(*files, part, NULL, info);
		if (result == 0)
			result = thrum__source_bundle_append(to, part, name);
		if (part >= 0)
			close(part);
	}
	return result < 0 ? result : thrum__source_bundle_end(to);
}

/* A copy that is wanted: where it goes, and which part it is. */
struct copying {
	char *file;
	int64_t from, until; /* the part that is copied, in ns; all of it: 0, INT64_MAX */
};

static void free_copying(gpointer data)
{
	struct copying *copying = data;

	g_free(copying->file);
	g_free(copying);
}

/* Copies a part of a recording's time. */
static int copy_part(const char *file, int to, const struct copying *part,
	struct thrum_error_info *info)
{
	struct thrum__input input;
	int result = thrum__source_open(file, &input, info);

	if (result < 0)
		return result;
	result = thrum__source_copy_times(&input, to, part->from, part->until, info);
	thrum__source_close(input.owner);
	return result;
}

static bool copy_to(AppTrace *self, int fd, const struct copying *copying, GError **error)
{
	struct thrum_error_info info = {0};
	bool is_part = copying->from > 0 || copying->until < INT64_MAX;
	int result = self->files ? copy_all(self->files, fd, &info)
		: is_part        ? copy_part(self->file, fd, copying, &info)
				 : thrum_trace_snapshot(self->file, fd, NULL, &info);

	if (result == 0 && fsync(fd) == 0)
		return true;
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		info.message[0] ? info.message : g_strerror(errno));
	return false;
}

static bool save_copy(AppTrace *self, const struct copying *copying, GError **error)
{
	const char *file = copying->file;
	const char *one[] = {self->file, NULL};
	const char *const *from = self->files ? (const char *const *)self->files : one;
	const char *refusal = NULL;

	for (; *from && !refusal; from++)
		refusal = thrum__source_refusal(*from, file);
	if (refusal) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST, "%s: %s", file, refusal);
		return false;
	}
	/* A copy that fails leaves no file behind and keeps an older one intact. */
	char *temporary = g_strconcat(file, ".XXXXXX", NULL);
	int fd = g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, 0666);
	bool done = fd >= 0 && copy_to(self, fd, copying, error);

	if (fd >= 0)
		done = close(fd) == 0 && done && g_rename(temporary, file) == 0;
	if (!done && error && !*error)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", file,
			g_strerror(errno));
	if (!done && fd >= 0)
		g_unlink(temporary);
	g_free(temporary);
	return done;
}

static void save_in_thread(GTask *task, gpointer source, gpointer copying,
	GCancellable *cancellable)
{
	GError *error = NULL;

	if (save_copy(source, copying, &error))
		g_task_return_boolean(task, TRUE);
	else
		g_task_return_error(task, error);
}

void app_trace_snapshot(AppTrace *self, const char *file, int64_t from, int64_t until,
	GAsyncReadyCallback done, void *data)
{
	GTask *task = g_task_new(self, NULL, done, data);
	struct copying *copying = g_new(struct copying, 1);

	*copying = (struct copying){g_strdup(file), from, until};
	g_task_set_task_data(task, copying, free_copying);
	g_task_run_in_thread(task, save_in_thread);
	g_object_unref(task);
}

bool app_trace_has_parts(AppTrace *self)
{
	return !self->files;
}

bool app_trace_snapshot_finish(GAsyncResult *task, GError **error)
{
	return g_task_propagate_boolean(G_TASK(task), error);
}
