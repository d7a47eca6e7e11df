/* SPDX-License-Identifier: ISC */
/* GTask and GCancellable. */
#include <gio/gio.h>
#include <stdarg.h>

#include "adapt/glib/glib.h"

/* Macros with the names of functions that are wrapped. */
#undef g_task_set_name
#undef g_task_set_source_tag

REAL(g_error_matches)
REAL(g_error_new_valist)
REAL(g_io_error_quark)
REAL(g_object_set_qdata_full)
REAL(g_quark_from_static_string)
REAL(g_task_new)
REAL(g_task_set_name)
REAL(g_task_set_source_tag)
REAL(g_task_run_in_thread)
REAL(g_task_run_in_thread_sync)
REAL(g_task_return_error)
REAL(g_task_return_error_if_cancelled)

/* A GTask's state, as its cell's number. */
enum {
	PENDING,
	RETURNED,
	UNHEARD, /* it has no callback: nobody misses its return */
};

void thrum__adapt_glib_fail(thrum_task task, const GError *error)
{
	if (error &&
		real_g_error_matches(
			NULL)(error, real_g_io_error_quark(NULL)(), G_IO_ERROR_CANCELLED))
		thrum_task_cancel(task);
	else
		thrum_task_fail(task, error && error->message ? error->message : "error");
}

/* Returns the cell of a GTask, or NULL. */
static struct cell *cell_of(const GTask *task)
{
	return task && thrum__adapt_glib_begin() ? thrum__adapt_cell_find(CELL_GTASK, task) : NULL;
}

/* Returns the task of a GTask, or NONE. */
static thrum_task task_of(const GTask *task)
{
	struct cell *cell = cell_of(task);

	return cell ? cell->task : THRUM_TASK_NONE;
}

/* As task_of. The GTask returns. */
static thrum_task end_of(const GTask *task)
{
	struct cell *cell = cell_of(task);

	if (!cell)
		return THRUM_TASK_NONE;
	cell->number = RETURNED;
	thrum__adapt_glib_closed(task);
	return cell->task;
}

/* A GTask goes. If it has not returned, it never will: that is its end if nobody misses that. Another one may
 * get its address. */
static void on_gone(gpointer argument)
{
	struct cell *cell = argument;
	thrum_task known = atomic_exchange(&cell->task, THRUM_TASK_NONE);

	if (cell->number == PENDING) {
		thrum__adapt_glib_closed(cell->key);
		thrum_task_should_resolve(known);
	} else if (cell->number == UNHEARD) {
		thrum_task_resolve(known);
	}
	atomic_store(&cell->is_free, true);
}

STAND_IN GTask *g_task_new(gpointer object, GCancellable *cancellable, GAsyncReadyCallback callback,
	gpointer data)
{
	GTask *task = real_g_task_new(CALLER)(object, cancellable, callback, data);
	struct callbacks none = {0};
	struct cell *cell;

	if (task)
		thrum__adapt_glib_keep(task, (cell_function *)callback, data);
	if (!task || !thrum__adapt_glib_begin() ||
		!(cell = thrum__adapt_cell(CELL_GTASK, task, &none)))
		return task;
	cell->task = callback
		? thrum__adapt_create_for(CALLER, THRUM_KIND_PROMISE, "GTask",
			  (cell_function *)callback)
		: thrum__create(thrum__adapt_site(CALLER), THRUM_KIND_PROMISE, "GTask");
	cell->number = callback ? PENDING : UNHEARD;
	if (callback && !thrum__adapt_glib_is_own(CALLER))
		thrum__adapt_glib_opened(task, cell->task);
	real_g_object_set_qdata_full(NULL)((GObject *)task,
		real_g_quark_from_static_string(NULL)("thrum-task"), cell, on_gone);
	return task;
}

STAND_IN void g_task_set_name(GTask *task, const char *name)
{
	if (name)
		thrum_task_label(task_of(task), name);
	real_g_task_set_name(CALLER)(task, name);
}

#if GLIB_CHECK_VERSION(2, 76, 0)
#undef g_task_set_static_name
REAL(g_task_set_static_name)

STAND_IN void g_task_set_static_name(GTask *task, const char *name)
{
	if (name)
		thrum_task_label(task_of(task), name);
	real_g_task_set_static_name(CALLER)(task, name);
}
#endif

/* The tag is a function, mostly. */
STAND_IN void g_task_set_source_tag(GTask *task, gpointer tag)
{
	thrum_task known = task_of(task);
	char label[PLACE_MAX];

	if (known && tag) {
		thrum__adapt_label(label, "GTask", tag);
		thrum_task_label(known, label);
	}
	real_g_task_set_source_tag(CALLER)(task, tag);
}

/* ---- In another thread ----------------------------------------------------------------------- */

static void on_thread(GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
	struct cell *cell = thrum__adapt_cell_find(CELL_GTASK, task);
	thrum_task before = thrum_task_enter(cell->task);

	((GTaskThreadFunc)cell->finalize)(task, object, data, cancellable);
	thrum_task_leave(before);
}

/* It waits for a thread from now on. */
static thrum_task hand_over(GTask *task, GTaskThreadFunc *function)
{
	struct cell *cell = *function ? cell_of(task) : NULL;
	thrum_task known = cell ? cell->task : THRUM_TASK_NONE;

	if (!known)
		return THRUM_TASK_NONE;
	cell->finalize = (cell_function *)*function;
	*function = on_thread;
	thrum_task_ready(known);
	return known;
}

STAND_IN void g_task_run_in_thread(GTask *task, GTaskThreadFunc function)
{
	hand_over(task, &function);
	real_g_task_run_in_thread(CALLER)(task, function);
}

STAND_IN void g_task_run_in_thread_sync(GTask *task, GTaskThreadFunc function)
{
	thrum_task known = hand_over(task, &function);

	if (known)
		thrum_task_wait(thrum_task_current(), known);
	real_g_task_run_in_thread_sync(CALLER)(task, function);
	if (known)
		thrum_task_read(thrum_task_current(), known);
}

/* ---- Returning ------------------------------------------------------------------------------- */

#define RETURN(name, parameters, arguments) \
	REAL(name) \
	STAND_IN void name parameters \
	{ \
		thrum_task_resolve(end_of(task)); \
		real_##name(CALLER) arguments; \
	}
RETURN(g_task_return_pointer, (GTask * task, gpointer result, GDestroyNotify destroy),
	(task, result, destroy))
RETURN(g_task_return_boolean, (GTask * task, gboolean result), (task, result))
RETURN(g_task_return_int, (GTask * task, gssize result), (task, result))
RETURN(g_task_return_value, (GTask * task, GValue *result), (task, result))

STAND_IN void g_task_return_error(GTask *task, GError *error)
{
	thrum_task known = end_of(task);

	if (known)
		thrum__adapt_glib_fail(known, error);
	real_g_task_return_error(CALLER)(task, error);
}

STAND_IN void g_task_return_new_error(GTask *task, GQuark domain, gint code, const char *format,
	...)
{
	thrum_task known = end_of(task);
	va_list arguments;
	GError *error;

	va_start(arguments, format);
	error = real_g_error_new_valist(CALLER)(domain, code, format, arguments);
	va_end(arguments);
	if (known)
		thrum__adapt_glib_fail(known, error);
	real_g_task_return_error(CALLER)(task, error);
}

STAND_IN gboolean g_task_return_error_if_cancelled(GTask *task)
{
	struct cell *cell = cell_of(task);
	thrum_task known = cell ? cell->task : THRUM_TASK_NONE;
	gboolean is_cancelled = real_g_task_return_error_if_cancelled(CALLER)(task);

	if (is_cancelled && cell) {
		cell->number = RETURNED;
		thrum__adapt_glib_closed(task);
		thrum_task_cancel(known);
	}
	return is_cancelled;
}

#define PROPAGATE(type, name, parameters, arguments) \
	REAL(name) \
	STAND_IN type name parameters \
	{ \
		thrum_task_read(thrum_task_current(), task_of(task)); \
		return real_##name(CALLER) arguments; \
	}
PROPAGATE(gpointer, g_task_propagate_pointer, (GTask * task, GError **error), (task, error))
PROPAGATE(gboolean, g_task_propagate_boolean, (GTask * task, GError **error), (task, error))
PROPAGATE(gssize, g_task_propagate_int, (GTask * task, GError **error), (task, error))
PROPAGATE(gboolean, g_task_propagate_value, (GTask * task, GValue *value, GError **error),
	(task, value, error))
