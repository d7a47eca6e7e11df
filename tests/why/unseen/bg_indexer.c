/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_stop runs in the main loop and joins the indexer's thread there. That thread is in
 *     run_on_main: it waits until the main loop has run a function for it, which can't be while main is in
 *     the join.
 *   culprit: on_stop|stop_indexer|run_on_main
 *   victim: refresh_clock|clock
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

struct call {
	void (*function)(gpointer);
	gpointer data;
	GMutex mutex;
	GCond done;
	gboolean is_done;
};

struct indexer {
	GThread *thread;
	gint stopping;
	guint files;
};

struct window {
	GMainLoop *loop;
	struct indexer *indexer;
	guint rows, seconds, runs;
	gboolean closes_later;
};

static struct window window;

/* ---- Calls into the main loop ---- */

static gboolean call_run(gpointer data)
{
	struct call *call = data;

	call->function(call->data);
	g_mutex_lock(&call->mutex);
	call->is_done = TRUE;
	g_cond_signal(&call->done);
	g_mutex_unlock(&call->mutex);
	return G_SOURCE_REMOVE;
}

static void run_on_main(void (*function)(gpointer), gpointer data)
{
	struct call call = {.function = function, .data = data};

	g_mutex_init(&call.mutex);
	g_cond_init(&call.done);
	g_idle_add(call_run, &call);
	g_mutex_lock(&call.mutex);
	while (!call.is_done)
		g_cond_wait(&call.done, &call.mutex);
	g_mutex_unlock(&call.mutex);
	g_cond_clear(&call.done);
	g_mutex_clear(&call.mutex);
}

/* ---- The indexer ---- */

static void add_rows(gpointer data)
{
	window.rows += GPOINTER_TO_UINT(data);
}

static void show_total(gpointer data)
{
	struct indexer *indexer = data;

	g_printerr("indexed %u files, %u rows\n", indexer->files, window.rows);
}

static guint read_file(guint number)
{
	GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
	guchar block[4096];
	guint words;

	memset(block, (int)(number & 255), sizeof block);
	for (int i = 0; i < 20; i++)
		g_checksum_update(checksum, block, sizeof block);
	words = (guint)g_checksum_get_string(checksum)[0] % 8 + 1;
	g_checksum_free(checksum);
	g_usleep(2000);
	return words;
}

static gpointer index_files(gpointer data)
{
	struct indexer *indexer = data;

	while (!g_atomic_int_get(&indexer->stopping)) {
		guint words = read_file(indexer->files++);

		if (indexer->files % 10 == 0)
			run_on_main(add_rows, GUINT_TO_POINTER(words));
	}
	run_on_main(show_total, indexer);
	return NULL;
}

static struct indexer *start_indexer(void)
{
	struct indexer *indexer = g_new0(struct indexer, 1);

	indexer->thread = g_thread_new("indexer", index_files, indexer);
	return indexer;
}

static void stop_indexer(struct indexer *indexer)
{
	g_atomic_int_set(&indexer->stopping, 1);
	g_thread_join(indexer->thread);
	g_free(indexer);
}

/* ---- The window ---- */

static gboolean on_start(gpointer data);

static void join_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	(void)source;
	(void)cancellable;
	stop_indexer(data);
	g_task_return_boolean(task, TRUE);
}

static void on_stopped(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)source;
	(void)data;
	if (g_task_propagate_boolean(G_TASK(result), NULL))
		g_timeout_add(100, on_start, NULL);
}

/* The button "Stop". */
static gboolean on_stop(gpointer data)
{
	struct indexer *indexer = window.indexer;

	(void)data;
	window.indexer = NULL;
	window.runs++;
	if (window.closes_later) {
		GTask *task = g_task_new(NULL, NULL, on_stopped, NULL);

		g_task_set_name(task, "stop indexer");
		g_task_set_task_data(task, indexer, NULL);
		g_task_run_in_thread(task, join_in_thread);
		g_object_unref(task);
		return G_SOURCE_REMOVE;
	}
	stop_indexer(indexer);
	g_timeout_add(100, on_start, NULL);
	return G_SOURCE_REMOVE;
}

/* The button "Start". */
static gboolean on_start(gpointer data)
{
	(void)data;
	window.indexer = start_indexer();
	g_timeout_add(500, on_stop, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean refresh_clock(gpointer data)
{
	(void)data;
	window.seconds++;
	g_printerr("clock %u, rows %u, runs %u\n", window.seconds, window.rows, window.runs);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	window.closes_later = argc > 1 && !strcmp(argv[1], "healthy");
	window.loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(200, refresh_clock, NULL);
	g_timeout_add(50, on_start, NULL);
	g_main_loop_run(window.loop);
	return 0;
}
