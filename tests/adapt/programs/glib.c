/* SPDX-License-Identifier: ISC */
/*
 * Uses GLib and GIO in most ways, and prints what it sees. The output is the same with and without
 * thrum. It knows nothing of thrum.
 */
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static GMainLoop *loop;
static int notices, ticks;

static const char *yes(gboolean is_so)
{
	return is_so ? "yes" : "no";
}

static void notice(gpointer data)
{
	notices++;
	printf("notice of %s\n", (const char *)data);
}

/* ---- Sources --------------------------------------------------------------------------------- */

static gboolean tick(gpointer data)
{
	printf("tick %d of %s, depth %d\n", ++ticks, (const char *)data, g_main_depth());
	return ticks < 3;
}

static gboolean inner(gpointer data)
{
	printf("inner, depth %d, current: %s\n", g_main_depth(),
		g_source_get_name(g_main_current_source()));
	*(gboolean *)data = TRUE;
	return G_SOURCE_REMOVE;
}

static gboolean outer(gpointer data)
{
	gboolean is_done = FALSE;
	guint id = g_idle_add(inner, &is_done);

	g_source_set_name_by_id(id, "the inner one");
	while (!is_done)
		g_main_context_iteration(NULL, TRUE);
	printf("outer, argument: %s\n", (const char *)data);
	return G_SOURCE_REMOVE;
}

static gboolean removes_itself(gpointer data)
{
	printf("found: %s\n",
		yes(g_main_context_find_source_by_user_data(NULL, data) ==
			g_main_current_source()));
	g_source_remove_by_user_data(data);
	printf("removed, notices %d\n", notices);
	return G_SOURCE_CONTINUE;
}

static gboolean second(gpointer data)
{
	printf("second, argument: %s\n", (const char *)data);
	return G_SOURCE_REMOVE;
}

static gboolean first(gpointer data)
{
	printf("first, argument: %s\n", (const char *)data);
	g_source_set_callback(g_main_current_source(), second, (gpointer) "replaced", notice);
	return G_SOURCE_CONTINUE;
}

static void once(gpointer data)
{
	printf("once, argument: %s\n", (const char *)data);
}

static gboolean readable(gint fd, GIOCondition condition, gpointer data)
{
	char byte;

	printf("readable: %zd, %d, argument: %s\n", read(fd, &byte, 1), condition,
		(const char *)data);
	return G_SOURCE_REMOVE;
}

static gboolean channel_readable(GIOChannel *channel, GIOCondition condition, gpointer data)
{
	char byte;

	printf("channel: %zd, %d, argument: %s\n",
		read(g_io_channel_unix_get_fd(channel), &byte, 1), condition, (const char *)data);
	return G_SOURCE_REMOVE;
}

static gboolean signalled(gpointer data)
{
	printf("signalled, argument: %s\n", (const char *)data);
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gboolean prepare_own(GSource *source, gint *timeout)
{
	(void)source;
	*timeout = -1;
	return TRUE;
}

static gboolean dispatch_own(GSource *source, GSourceFunc function, gpointer data)
{
	printf("own source %s, function: %s, data: %s\n", g_source_get_name(source),
		yes(function != NULL), yes(data != NULL));
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static GSourceFuncs own_functions = {.prepare = prepare_own, .dispatch = dispatch_own};

static void show_sources(void)
{
	GSource *source;
	GIOChannel *channel;
	int ends[2];

	g_idle_add_full(G_PRIORITY_HIGH, outer, (gpointer) "outer's", notice);
	g_main_context_iteration(NULL, TRUE);
	g_timeout_add_full(G_PRIORITY_HIGH, 1, tick, (gpointer) "ticks", notice);
	while (ticks < 3)
		g_main_context_iteration(NULL, TRUE);
	g_idle_add_full(G_PRIORITY_HIGH, removes_itself, (gpointer) "removed", notice);
	g_main_context_iteration(NULL, TRUE);

	source = g_timeout_source_new(0);
	g_source_set_name(source, "a source with a name");
	g_source_set_callback(source, first, (gpointer) "first", notice);
	g_source_attach(source, NULL);
	g_main_context_iteration(NULL, TRUE);
	g_main_context_iteration(NULL, TRUE);
	printf("destroyed: %s\n", yes(g_source_is_destroyed(source)));
	g_source_unref(source);

	g_idle_add_once(once, (gpointer) "once");
	g_main_context_iteration(NULL, TRUE);
	g_main_context_invoke(NULL, second, (gpointer) "invoked");
	printf("none found: %s\n", yes(!g_main_context_find_source_by_user_data(NULL, NULL)));

	if (!g_unix_open_pipe(ends, FD_CLOEXEC, NULL) || write(ends[1], "xy", 2) != 2)
		return;
	g_unix_fd_add(ends[0], G_IO_IN, readable, (gpointer) "fd's");
	g_main_context_iteration(NULL, TRUE);
	channel = g_io_channel_unix_new(ends[0]);
	g_io_add_watch(channel, G_IO_IN, channel_readable, (gpointer) "channel's");
	g_main_context_iteration(NULL, TRUE);
	g_io_channel_unref(channel);
	close(ends[0]);
	close(ends[1]);

	g_unix_signal_add(SIGUSR1, signalled, (gpointer) "signal's");
	raise(SIGUSR1);
	g_main_loop_run(loop);

	source = g_source_new(&own_functions, sizeof(GSource));
	g_source_set_name(source, "own");
	g_source_attach(source, NULL);
	g_source_unref(source);
	g_main_loop_run(loop);

	source = g_timeout_source_new(1000);
	g_source_set_callback(source, second, (gpointer) "never attached", notice);
	g_source_unref(source);
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static void double_it(GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
	(void)object, (void)cancellable;
	g_task_return_int(task, 2 * GPOINTER_TO_INT(data));
}

static void doubled(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)object;
	printf("doubled: %zd, argument: %s, %s\n", g_task_propagate_int(G_TASK(result), NULL),
		(const char *)data, yes(g_async_result_get_user_data(result) == data));
	g_main_loop_quit(loop);
}

static void cancelled(GObject *object, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	(void)object, (void)data;
	g_task_propagate_pointer(G_TASK(result), &error);
	printf("cancelled: %s\n", yes(g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)));
	g_error_free(error);
	g_main_loop_quit(loop);
}

static void refused(GObject *object, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	(void)object, (void)data;
	printf("refused: %s", yes(!g_task_propagate_boolean(G_TASK(result), &error)));
	printf(", %s\n", error->message);
	g_error_free(error);
	g_main_loop_quit(loop);
}

/* Returns nothing. */
static void ignore_it(GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
	(void)task, (void)object, (void)data, (void)cancellable;
}

static void show_tasks(void)
{
	GCancellable *cancellable = g_cancellable_new();
	GTask *task = g_task_new(NULL, NULL, doubled, (gpointer) "task's");

	g_task_set_source_tag(task, double_it);
	g_task_set_task_data(task, GINT_TO_POINTER(21), NULL);
	g_task_run_in_thread(task, double_it);
	g_object_unref(task);
	g_main_loop_run(loop);

	task = g_task_new(NULL, cancellable, cancelled, NULL);
	g_task_set_name(task, "a task with a name");
	g_cancellable_cancel(cancellable);
	printf("returned: %s\n", yes(g_task_return_error_if_cancelled(task)));
	g_object_unref(task);
	g_object_unref(cancellable);
	g_main_loop_run(loop);

	task = g_task_new(NULL, NULL, refused, NULL);
	g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_BUSY, "it is %s, %d", "busy", 7);
	g_object_unref(task);
	g_main_loop_run(loop);

	task = g_task_new(NULL, NULL, NULL, NULL);
	g_task_set_name(task, "an unheard task");
	g_task_run_in_thread_sync(task, ignore_it);
	g_object_unref(task);
}

/* ---- Operations of GIO ----------------------------------------------------------------------- */

static GAsyncResult *kept; /* the last result */

static void loaded(GObject *object, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;
	char *contents = NULL;
	gsize size = 0;
	gboolean is_loaded = g_file_load_contents_finish(G_FILE(object), result, &contents, &size,
		NULL, &error);

	printf("loaded: %s, any: %s, error %s, argument: %s, %s\n", yes(is_loaded), yes(size > 0),
		error ? error->message : "none", (const char *)data,
		yes(g_async_result_get_user_data(result) == data));
	kept = g_object_ref(result);
	g_clear_error(&error);
	g_free(contents);
	g_main_loop_quit(loop);
}

static void load(const char *path)
{
	GFile *file = g_file_new_for_path(path);

	g_file_load_contents_async(file, NULL, loaded, (gpointer)path);
	g_object_unref(file);
	g_main_loop_run(loop);
	printf("afterwards: %s\n", yes(g_async_result_get_user_data(kept) == path));
	g_object_unref(kept);
}

static void waited(GObject *object, GAsyncResult *result, gpointer data)
{
	GSubprocess *process = G_SUBPROCESS(object);

	printf("waited: %s", yes(g_subprocess_wait_finish(process, result, NULL)));
	printf(", status %d, argument: %s\n", g_subprocess_get_exit_status(process),
		(const char *)data);
	g_main_loop_quit(loop);
}

static void show_processes(void)
{
	GError *error = NULL;
	GSubprocess *process = g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL, "sh", "-c",
		"echo said; exit 3", NULL);
	char *output;

	g_subprocess_wait_async(process, NULL, waited, (gpointer) "process's");
	g_main_loop_run(loop);
	g_subprocess_communicate_utf8(process, NULL, NULL, &output, NULL, NULL);
	printf("it %s", output);
	g_free(output);
	g_object_unref(process);

	process = g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, &error, "/no/such/program", NULL);
	printf("started: %s, %s\n", yes(process != NULL), error->message);
	g_error_free(error);
	process = g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, NULL, "false", NULL);
	printf("checked: %s\n", yes(g_subprocess_wait_check(process, NULL, NULL)));
	g_object_unref(process);
}

/* ---- D-Bus, if there is a bus ---------------------------------------------------------------- */

static void got_id(GObject *object, GAsyncResult *result, gpointer data)
{
	GVariant *id = g_dbus_connection_call_finish(G_DBUS_CONNECTION(object), result, NULL);

	printf("an id: %s, argument: %s\n", yes(id != NULL), (const char *)data);
	if (id)
		g_variant_unref(id);
	g_main_loop_quit(loop);
}

static void got_nothing(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)data;
	printf("nothing: %s\n",
		yes(!g_dbus_connection_call_finish(G_DBUS_CONNECTION(object), result, NULL)));
	g_main_loop_quit(loop);
}

static void call(GDBusConnection *bus, const char *method, GAsyncReadyCallback callback)
{
	g_dbus_connection_call(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
		"org.freedesktop.DBus", method, NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL,
		callback, (gpointer) "call's");
	g_main_loop_run(loop);
}

static void show_calls(void)
{
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
	GVariant *names;

	if (!bus)
		return;
	call(bus, "GetId", got_id);
	call(bus, "NoSuchMethod", got_nothing);
	names = g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
		"org.freedesktop.DBus", "ListNames", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL,
		NULL);
	printf("names: %s\n", yes(names != NULL));
	g_variant_unref(names);
	g_object_unref(bus);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

static GMutex mutex;
static GCond answered;
static int answers;

static gpointer answer_later(gpointer data)
{
	g_usleep(20000);
	g_mutex_lock(&mutex);
	answers++;
	g_cond_signal(&answered);
	g_mutex_unlock(&mutex);
	return data;
}

static void show_conditions(void)
{
	GThread *thread = g_thread_new("answer", answer_later, NULL);
	gboolean is_in_time;

	g_mutex_lock(&mutex);
	while (answers == 0)
		g_cond_wait(&answered, &mutex);
	is_in_time = g_cond_wait_until(&answered, &mutex, g_get_monotonic_time() + 1000);
	g_mutex_unlock(&mutex);
	g_thread_join(thread);
	g_cond_clear(&answered);
	printf("answers: %d, in time: %s\n", answers, yes(is_in_time));
}

int main(int count, char **arguments)
{
	loop = g_main_loop_new(NULL, FALSE);
	show_sources();
	show_tasks();
	load("/proc/self/comm");
	load("/no/such/file");
	show_processes();
	show_conditions();
	if (count > 1 && strcmp(arguments[1], "bus") == 0)
		show_calls();
	g_main_loop_unref(loop);
	printf("notices: %d\n", notices);
	return 0;
}
