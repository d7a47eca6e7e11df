/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: A letter that is typed cancels the lookup of the letter before. on_found returns early for a lookup
 *     that was cancelled, and doesn't count it down in helper.lookups. So helper.lookups never comes to
 *     0 again, and wait_idle hangs, which the session calls before it closes the index.
 *   culprit: on_found
 *   victim: wait_idle|session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A desktop helper for the timetable: it completes the name of a station while one types. Lookups run in
 * threads of GLib. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

struct helper {
	GMutex mutex;
	GCond idle;
	guint lookups; /* that run, with the mutex */
	GCancellable *typing;
	guint shown;
	guint cursor;
};

static const char *const stations[] = {"Aarau", "Basel", "Bern", "Biel", "Chur", "Genf", "Olten",
	"Thun"};
static struct helper helper;
static GMainLoop *loop;
static gboolean healthy;

static void find_station(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const char *typed = data;

	(void)source;
	for (guint i = 0; i < G_N_ELEMENTS(stations); i++) {
		g_usleep(5000); /* a slow index */
		if (g_cancellable_is_cancelled(cancellable))
			break;
		if (g_str_has_prefix(stations[i], typed)) {
			g_task_return_pointer(task, g_strdup(stations[i]), g_free);
			return;
		}
	}
	if (!g_task_return_error_if_cancelled(task))
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "no such station");
}

static void lookup_done(void)
{
	g_mutex_lock(&helper.mutex);
	if (!--helper.lookups)
		g_cond_broadcast(&helper.idle);
	g_mutex_unlock(&helper.mutex);
}

static void on_found(GObject *source, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;
	char *name = g_task_propagate_pointer(G_TASK(result), &error);

	(void)source, (void)data;
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_error_free(error);
		if (healthy)
			lookup_done();
		return; /* a newer one is under way */
	}
	if (name)
		helper.shown++;
	g_clear_error(&error);
	g_free(name);
	lookup_done();
}

static gboolean on_key(gpointer data)
{
	GTask *task;

	g_cancellable_cancel(helper.typing);
	g_clear_object(&helper.typing);
	helper.typing = g_cancellable_new();
	task = g_task_new(NULL, helper.typing, on_found, NULL);
	g_task_set_name(task, "find station");
	g_task_set_task_data(task, data, g_free);
	g_task_run_in_thread(task, find_station);
	g_object_unref(task);
	return G_SOURCE_REMOVE;
}

static gboolean on_cursor(gpointer data)
{
	(void)data;
	helper.cursor++;
	return G_SOURCE_CONTINUE;
}

static void type(const char *text)
{
	g_mutex_lock(&helper.mutex);
	helper.lookups++;
	g_mutex_unlock(&helper.mutex);
	g_idle_add(on_key, g_strdup(text));
}

static void wait_idle(void)
{
	g_mutex_lock(&helper.mutex);
	while (helper.lookups)
		g_cond_wait(&helper.idle, &helper.mutex);
	g_mutex_unlock(&helper.mutex);
}

/* The letters that somebody types, and the end of the session. */
static gpointer session(gpointer data)
{
	static const char *const slow_typist[] = {"Aa", "Bi", "Ch", "Ol", "Th"};

	(void)data;
	for (guint i = 0; i < G_N_ELEMENTS(slow_typist); i++) {
		type(slow_typist[i]);
		wait_idle(); /* reads the answer */
		g_usleep(10000);
	}
	type("T");
	g_usleep(4000);
	type("Th");
	g_usleep(50000);
	wait_idle();
	g_main_loop_quit(loop);
	return NULL;
}

int main(int count, char **arguments)
{
	GThread *thread;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	g_mutex_init(&helper.mutex);
	g_cond_init(&helper.idle);
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(120, on_cursor, NULL);
	thread = g_thread_new("session", session, NULL);
	g_main_loop_run(loop);
	g_thread_join(thread);
	g_clear_object(&helper.typing);
	g_main_loop_unref(loop);
	printf("%u stations shown\n", helper.shown);
	return 0;
}
