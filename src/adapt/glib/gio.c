/* SPDX-License-Identifier: ISC */
/* Operations of GIO: calls over D-Bus, processes, files, streams, names. */
#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/glib/glib.h"
#include "adapt/look/look.h"
#include "adapt/relatives/relatives.h"

REAL(g_error_free)
REAL(g_subprocess_get_identifier)
REAL(g_file_peek_path)
REAL(g_async_result_get_user_data)
REAL(g_object_get_qdata)
REAL(g_object_set_qdata_full)
REAL(g_quark_from_static_string)
REAL(g_type_check_instance_is_a)
/* Their header is in a folder of its own. */
GType g_file_descriptor_based_get_type(void);
int g_file_descriptor_based_get_fd(GFileDescriptorBased *);
REAL(g_file_descriptor_based_get_type)
REAL(g_file_descriptor_based_get_fd)
REAL(g_filter_output_stream_get_type)
REAL(g_filter_output_stream_get_base_stream)
REAL(g_socket_get_fd)

#define FILTERS_MAX 8 /* streams that write to one another */

/* ---- Words ----------------------------------------------------------------------------------- */

#define TEXT(text) ((text) ? (text) : "")
#define PATH(file) path_of(file)

static const char *path_of(GFile *file)
{
	const char *path = file ? real_g_file_peek_path(NULL)(file) : NULL;

	return path ? path : "a file";
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* The operation whose callback the thread runs. */
static __thread struct operation {
	const GAsyncResult *result;
	thrum_task task;
	const void *from; /* where it was asked for */
	bool has_failed;
} operation __attribute__((tls_model("initial-exec")));

static void release_cell(gpointer argument)
{
	struct cell *cell = argument;

	if (__atomic_sub_fetch(&cell->number, 1, __ATOMIC_ACQ_REL) == 0)
		free(cell);
}

static GQuark key_of_cells(void)
{
	return real_g_quark_from_static_string(NULL)("thrum-cell");
}

/* The result of an operation knows the argument of its callback, which is ours. So the cell lives
 * until both are gone. */
static void keep_cell(GAsyncResult *result, struct cell *cell)
{
	GObject *object = (GObject *)result;
	GQuark key = key_of_cells();

	if (!result || real_g_async_result_get_user_data(NULL)(result) != cell ||
		real_g_object_get_qdata(NULL)(object, key) == cell)
		return;
	__atomic_add_fetch(&cell->number, 1, __ATOMIC_ACQ_REL);
	real_g_object_set_qdata_full(NULL)(object, key, cell, release_cell);
}

static void on_ready(GObject *object, GAsyncResult *result, gpointer argument)
{
	struct cell *cell = argument;
	struct operation outer = operation;
	GAsyncReadyCallback callback = (GAsyncReadyCallback)cell->given.function[0];
	gpointer user_data = cell->given.argument;
	thrum_task before = thrum_task_enter(cell->task);

	operation = (struct operation){result, cell->task, cell->from, false};
	keep_cell(result, cell);
	release_cell(cell);
	callback(object, result, user_data);
	if (!operation.has_failed)
		thrum_task_resolve(operation.task);
	/* The callback got the result. */
	thrum_task_read(before, operation.task);
	thrum_task_leave(before);
	operation = outer;
}

void thrum__adapt_glib_keep(void *result, cell_function *callback, void *data)
{
	if (callback == (cell_function *)on_ready)
		keep_cell(result, data);
}

STAND_IN gpointer g_async_result_get_user_data(GAsyncResult *result)
{
	gpointer data = real_g_async_result_get_user_data(CALLER)(result);
	const struct cell *cell = result && data
		? real_g_object_get_qdata(CALLER)((GObject *)result, key_of_cells())
		: NULL;

	return cell && cell == data ? cell->given.argument : data;
}

/* Without a callback, an operation may be another: a call over D-Bus then wants no reply. */
#define ASYNC(name, parameters, arguments, ...) \
	ASYNC_AFTER(, name, parameters, arguments, __VA_ARGS__)
#define ASYNC_AFTER(before, name, parameters, arguments, ...) \
	ASYNC_BETWEEN(before, , name, parameters, arguments, __VA_ARGS__)
#define ASYNC_BETWEEN(before, after, name, parameters, arguments, ...) \
	REAL(name) \
	STAND_IN void name parameters \
	{ \
		const void *caller = CALLER; \
		struct cell *cell = callback && thrum__adapt_glib_begin() \
			? thrum__adapt_cell_once((cell_function *)callback, user_data, \
				  thrum__adapt_request(caller, __VA_ARGS__)) \
			: NULL; \
\
		if (cell) { \
			cell->number = 1; \
			cell->from = caller; \
			callback = on_ready; \
			user_data = cell; \
			before; \
		} \
		real_##name(caller) arguments; \
		after; \
	}

/* The descriptor below a stream, or -1. */
static int descriptor_of(GOutputStream *stream)
{
	GType based = real_g_file_descriptor_based_get_type(NULL)();
	GType filter = real_g_filter_output_stream_get_type(NULL)();

	for (int i = 0; stream && i < FILTERS_MAX; i++) {
		GTypeInstance *instance = (GTypeInstance *)(void *)stream;

		if (real_g_type_check_instance_is_a(NULL)(instance, based))
			return real_g_file_descriptor_based_get_fd(NULL)(
				(GFileDescriptorBased *)(void *)stream);
		if (!real_g_type_check_instance_is_a(NULL)(instance, filter))
			break;
		stream = real_g_filter_output_stream_get_base_stream(NULL)(
			(GFilterOutputStream *)(void *)stream);
	}
	return -1;
}

/* The callback of the read that the thread begins just now; NULL: none. */
static __thread const void *reader __attribute__((tls_model("initial-exec")));

static void begin_read(const struct cell *cell)
{
	reader = (const void *)(uintptr_t)cell->given.function[0];
}

static void end_read(void)
{
	reader = NULL;
}

/* A write is asked for, or has ended in its callback. One that failed is noted: see look/unsent.c. */
static void ask_write(GOutputStream *stream)
{
	thrum__adapt_unsent_refused(descriptor_of(stream), NULL);
}

static void end_write(GOutputStream *stream, const GAsyncResult *res, const GError *error)
{
	if (error && operation.result == res)
		thrum__adapt_unsent_refused(descriptor_of(stream), operation.from);
}

static void tell_failure(const GAsyncResult *result, const GError *error)
{
	if (!error || operation.result != result || operation.has_failed)
		return;
	operation.has_failed = true;
	thrum__adapt_glib_fail(operation.task, error);
}

#define FINISH(type, name, parameters, arguments) FINISH_BEFORE(, type, name, parameters, arguments)
#define FINISH_BEFORE(after, type, name, parameters, arguments) \
	REAL(name) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
		GError *own = NULL, **given = error; \
\
		error = given ? given : &own; \
		type result = real_##name(caller) arguments; \
\
		tell_failure(res, *error); \
		after; \
		if (own) \
			real_g_error_free(caller)(own); \
		return result; \
	}

/* The running task waits for the task of a call. */
static thrum_task begin_sync(thrum_task task)
{
	thrum_task_wait(thrum_task_current(), task);
	return task;
}

static void end_sync(thrum_task task, const GError *error)
{
	if (error)
		thrum__adapt_glib_fail(task, error);
	else
		thrum_task_resolve(task);
	thrum_task_read(thrum_task_current(), task);
	if (UNLIKELY(thrum__adapt_is_told))
		thrum__adapt_glib_asked(task);
}

/* GLib's own thread takes the child, and wakes this one. So this one looks meanwhile for what the child
 * waits, as for another child. */
static void wait_for_child(GSubprocess *process, const GCancellable *cancellable,
	const void *caller)
{
	const char *id = process && !cancellable ? real_g_subprocess_get_identifier(NULL)(process)
						 : NULL;
	char label[40];
	struct wait wait;

	if (!id)
		return;
	snprintf(label, sizeof label, "process %s", id);
	thrum__adapt_wait_outside(&wait, THRUM_KIND_REQUEST, label, -1, caller);
	thrum__adapt_child_wait(&wait, label, (pid_t)strtol(id, NULL, 10));
	thrum__adapt_wait_end(&wait);
}

#define SYNC(type, name, parameters, arguments, ...) \
	SYNC_AFTER(, type, name, parameters, arguments, __VA_ARGS__)
#define SYNC_AFTER(before, type, name, parameters, arguments, ...) \
	REAL(name) \
	STAND_IN type name parameters \
	{ \
		const void *caller = CALLER; \
		GError *own = NULL, **given = error; \
\
		if (!thrum__adapt_glib_begin()) \
			return real_##name(caller) arguments; \
		thrum_task task = begin_sync(thrum__adapt_request(caller, __VA_ARGS__)); \
\
		before; \
		error = given ? given : &own; \
		type result = real_##name(caller) arguments; \
\
		end_sync(task, *error); \
		if (own) \
			real_g_error_free(caller)(own); \
		return result; \
	}
#include "adapt/glib/gio.def"

/* ---- Sources of descriptors ------------------------------------------------------------------ */

/* A source waits for data of a descriptor, for a read with that callback. */
static void await_data(GSource *source, int fd, const void *callback)
{
	struct cell *cell = thrum__adapt_glib_cell(source);

	if (!cell || cell->watched >= 0)
		return;
	cell->watched = fd;
	cell->reader = callback;
	cell->watch = thrum__adapt_removed_source(fd);
}

/* GIO makes the source by g_source_new. */
REAL(g_socket_create_source)
STAND_IN GSource *g_socket_create_source(GSocket *socket, GIOCondition condition,
	GCancellable *cancellable)
{
	GSource *source = real_g_socket_create_source(CALLER)(socket, condition, cancellable);

	if (condition & G_IO_IN)
		await_data(source, real_g_socket_get_fd(NULL)(socket), NULL);
	return source;
}

/* A read of GIO that has to wait makes its source by calls within GIO. */
REAL(g_source_add_poll)
STAND_IN void g_source_add_poll(GSource *source, GPollFD *fd)
{
	if (reader && fd->events & G_IO_IN)
		await_data(source, fd->fd, reader);
	real_g_source_add_poll(CALLER)(source, fd);
}

REAL(g_source_add_unix_fd)
STAND_IN gpointer g_source_add_unix_fd(GSource *source, gint fd, GIOCondition events)
{
	if (reader && events & G_IO_IN)
		await_data(source, fd, reader);
	return real_g_source_add_unix_fd(CALLER)(source, fd, events);
}

/* ---- Processes ------------------------------------------------------------------------------- */

REAL(g_subprocess_newv)
REAL(g_subprocess_launcher_spawnv)

/* A child that the calling thread starts already: GIO may call itself. */
struct spawn {
	const char *child;
	const void *spawner;
};

static struct spawn begin_spawn(const char *program, const void *caller)
{
	struct spawn before = {thrum__adapt_glib_child, thrum__adapt_spawner};
	const char *slash = program ? strrchr(program, '/') : NULL;

	thrum__adapt_spawner = thrum__adapt_spawns_at(caller);

	/* GIO makes the source that waits for the process meanwhile. */
	thrum__adapt_glib_child = slash ? slash + 1 : program;
	return before;
}

static void end_spawn(const struct spawn *before)
{
	thrum__adapt_glib_child = before->child;
	thrum__adapt_spawner = before->spawner;
}

STAND_IN GSubprocess *g_subprocess_newv(const gchar *const *arguments, GSubprocessFlags flags,
	GError **error)
{
	struct spawn before = begin_spawn(arguments ? arguments[0] : NULL, CALLER);
	GSubprocess *process = real_g_subprocess_newv(CALLER)(arguments, flags, error);

	end_spawn(&before);
	return process;
}

STAND_IN GSubprocess *g_subprocess_launcher_spawnv(GSubprocessLauncher *launcher,
	const gchar *const *arguments, GError **error)
{
	struct spawn before = begin_spawn(arguments ? arguments[0] : NULL, CALLER);
	GSubprocess *process = real_g_subprocess_launcher_spawnv(
		CALLER)(launcher, arguments, error);

	end_spawn(&before);
	return process;
}

/* Collects arguments up to NULL. Ends the program if there is no memory, as GLib does. */
static const char **collect(const char *first, va_list more)
{
	size_t count = 1;
	va_list ahead;

	va_copy(ahead, more);
	while (va_arg(ahead, const char *))
		count++;
	va_end(ahead);
	const char **arguments = calloc(count + 1, sizeof(*arguments));

	if (!arguments)
		abort();
	arguments[0] = first;
	for (size_t i = 1; i < count; i++)
		arguments[i] = va_arg(more, const char *);
	return arguments;
}

/* launcher NULL: by these flags. */
static GSubprocess *spawn(GSubprocessLauncher *launcher, GSubprocessFlags flags, GError **error,
	const char *first, va_list more, const void *caller)
{
	const char **arguments = collect(first, more);
	struct spawn before = begin_spawn(first, caller);
	GSubprocess *process = launcher ? g_subprocess_launcher_spawnv(launcher, arguments, error)
					: g_subprocess_newv(arguments, flags, error);

	end_spawn(&before);
	free(arguments);
	return process;
}

STAND_IN GSubprocess *g_subprocess_new(GSubprocessFlags flags, GError **error, const gchar *first,
	...)
{
	va_list more;

	va_start(more, first);
	GSubprocess *process = spawn(NULL, flags, error, first, more, CALLER);

	va_end(more);
	return process;
}

STAND_IN GSubprocess *g_subprocess_launcher_spawn(GSubprocessLauncher *launcher, GError **error,
	const gchar *first, ...)
{
	va_list more;

	va_start(more, first);
	GSubprocess *process = spawn(launcher, 0, error, first, more, CALLER);

	va_end(more);
	return process;
}
